#pragma once

#include <cstdint>
#include <vector>

#include "synth/model.hpp"

namespace lockstep {

/// Tokens as a model writes them: what is repeated counts once.
[[nodiscard]] inline std::uint64_t written_tokens(const std::vector<synth::Item>& items) {
  std::uint64_t count = 0;
  for (const synth::Item& item : items) count += item.body.empty() ? 1 : written_tokens(item.body);
  return count;
}

}  // namespace lockstep
