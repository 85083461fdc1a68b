#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::synth {

/// Part of a sequence: one place of it, or a block that stands there so many times in a row.
struct Phrase {
  std::size_t first = 0;     ///< place in the sequence
  std::uint32_t count = 1;   ///< times that `body` is repeated; 1: the place alone
  std::vector<Phrase> body;  ///< of the first repetition; empty: the place alone
};

/// One place of a sequence.
struct Symbol {
  std::uint64_t word = 0;  ///< equal places have equal words
  std::int8_t opens = 0;   ///< 1 opens a range of its thread, -1 closes one
  std::uint8_t thread = 0;
};

/// Finds what is repeated in a row, the longest first and within blocks again. A block closes the ranges
/// that it opens. Places of a row that is repeated are those of its first repetition; the k-th one stands
/// k times the length of the block later.
/// *Algorithm*: rows of a period are runs of s[i] = s[i + period]; periods that are tried are the most
/// frequent distances of equal groups of four. The row that saves most, (count - 1) * period, is taken.
[[nodiscard]] std::vector<Phrase> repeated_phrases(std::span<const Symbol> sequence);

/// Places that @p phrases cover in the sequence.
[[nodiscard]] std::size_t length_of(const std::vector<Phrase>& phrases);

/// Places that are written down: each block once.
[[nodiscard]] std::size_t written_length(const std::vector<Phrase>& phrases);

}  // namespace lockstep::synth
