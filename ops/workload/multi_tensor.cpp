#include "ops/workload/multi_tensor.hpp"

#include <algorithm>
#include <array>

namespace lockstep {

std::vector<MultiTensorLaunch> multi_tensor_launches(std::span<const std::int64_t> elements, int operands) {
  constexpr std::int64_t kChunk = 65536;
  constexpr int kMostChunks = 320;
  constexpr std::array<std::int64_t, 5> kMostTensors{110, 64, 48, 36, 30};
  const std::int64_t most_tensors = kMostTensors.at(static_cast<std::size_t>(operands - 1));

  std::vector<MultiTensorLaunch> launches;
  MultiTensorLaunch open;
  int chunks = 0;
  const auto close = [&](bool continues) {
    launches.push_back(open);
    open = {.elements = 0, .tensors = continues ? 1 : 0};
    chunks = 0;
  };
  for (const std::int64_t size : elements) {
    if (size == 0) {
      continue;
    }
    ++open.tensors;
    for (std::int64_t done = 0; done < size; done += kChunk) {
      open.elements += std::min(kChunk, size - done);
      ++chunks;
      const bool ends = done + kChunk >= size;
      if (chunks == kMostChunks || (ends && open.tensors == most_tensors)) {
        close(!ends);
      }
    }
  }
  if (chunks > 0) {
    close(false);
  }
  return launches;
}

}  // namespace lockstep
