#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "app/prediction.hpp"

namespace lockstep {

/// The rank whose GPU is filled most.
struct FullestRank {
  std::uint32_t rank = 0;
  MemoryBreakdown memory;  ///< at its peak, with context and fragmentation
  Bytes capacity;

  [[nodiscard]] double share() const { return memory.total() / capacity; }
};

/// A rank needs more memory than its GPU has.
class OutOfMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// None where the workload's memory is not modelled.
[[nodiscard]] std::optional<FullestRank> fullest_rank(const Setting& setting);

/// `  activations    12.3 GB`, a line for each use, the largest first.
[[nodiscard]] std::string memory_lines(const FullestRank& fullest);

/// @throws OutOfMemoryError with the breakdown, unless the scenario says to go on
void check_memory(const Setting& setting);

}  // namespace lockstep
