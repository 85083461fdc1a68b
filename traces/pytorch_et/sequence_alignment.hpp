#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep::pytorch_et {

using Symbol = std::uint32_t;

/// Pairs of places whose symbols are equal, ascending in both sequences: a longest such list where it takes
/// few skipped symbols, else a long one.
/// *Source*: E. W. Myers, An O(ND) Difference Algorithm and Its Variations, Algorithmica 1 (1986), the
/// variant in linear space. Time: (length of both) x (symbols skipped, at most 4096 a step).
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> aligned(std::span<const Symbol> left,
                                                                       std::span<const Symbol> right);

}  // namespace lockstep::pytorch_et
