#pragma once

#include <cstddef>
#include <vector>

#include "traces/replay/what_if.hpp"

namespace lockstep::replay {

/// Groups of ranks that are compared with each other, which of them are changed, and what is typical.
class StragglerPeers {
 public:
  /// @param programs number of them, by rank
  /// @throws std::invalid_argument for a rank that there is not, or that is in two stages
  StragglerPeers(std::size_t programs, const WhatIfSpec& edit);

  /// Ranks that do the same, in the order of the specification.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& stages() const { return stages_; }
  [[nodiscard]] bool is_cured(std::size_t rank) const { return cured_[rank]; }
  /// The median (of an even number: the mean of the two in the middle) or the least of @p times, s.
  [[nodiscard]] double typical(std::vector<double> times) const;

 private:
  StragglerEdit edit_;
  std::vector<std::vector<std::size_t>> stages_;
  std::vector<bool> cured_;
};

}  // namespace lockstep::replay
