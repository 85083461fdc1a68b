#include "ops/workload/cnn_memory.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

constexpr double kFloat = 4;
constexpr double kIndex = 8;
constexpr double kGradientsAtATime = 3;

/// Bytes that a layer keeps for backward.
double kept(const ShapedLayer& layer) {
  const auto elements = static_cast<double>(layer.output.elements());
  switch (layer.layer.kind) {
    case CnnLayer::Kind::Convolution:
      return (layer.layer.filters.size() > 1 ? 3 : 2) * kFloat * elements;
    case CnnLayer::Kind::MaxPool:
      return (kFloat + kIndex) * elements;
    case CnnLayer::Kind::AveragePool:
      return kFloat * elements;
  }
  return 0;
}

}  // namespace

MemoryBreakdown cnn_memory(const CnnSpec& spec, std::span<const ShapedBlock> blocks, std::size_t ranks) {
  const std::vector<std::int64_t> sizes = cnn_parameters(spec);
  const double parameters =
      kFloat * static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  double activations = kFloat * static_cast<double>(blocks.front().input.elements());
  double largest = activations;
  for (const ShapedBlock& block : blocks) {
    for (const std::vector<ShapedLayer>& branch : block.branches) {
      for (const ShapedLayer& layer : branch) {
        activations += kept(layer);
        largest = std::max(largest, kFloat * static_cast<double>(layer.output.elements()));
      }
    }
    if (block.branches.size() > 1) {
      activations += kFloat * static_cast<double>(block.output.elements());
    }
  }
  MemoryBreakdown memory;
  memory[MemoryUse::Parameters] = parameters;
  memory[MemoryUse::Gradients] = parameters;
  memory[MemoryUse::Activations] = activations;
  memory[MemoryUse::Workspace] = kGradientsAtATime * largest;
  memory[MemoryUse::Communication] = ranks > 1 ? parameters : 0;
  return memory;
}

}  // namespace lockstep
