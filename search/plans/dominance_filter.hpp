#pragma once

#include <cstddef>
#include <vector>

#include "search/plans/plan_estimate.hpp"

namespace lockstep {

/// Candidates of which only bounds are known, and what is known of others: those that enough others beat need
/// not be looked at, for they are neither among the fastest nor on the front of time and memory.
class DominanceFilter {
 public:
  /// @param keep as many have to beat a candidate, which then is none of the keep fastest
  explicit DominanceFilter(std::size_t keep) : keep_{keep} {}

  /// @param least figures that the candidate has at least
  /// @return its number: 0, 1, ...
  std::size_t add(const PlanFigures& least);

  /// A plan's figures are known: it beats what takes clearly longer, needs no less memory and has as many
  /// GPUs.
  void meet(const PlanFigures& known);

  [[nodiscard]] bool is_beaten(std::size_t number) const { return candidates_[number].beaten_by >= keep_; }

  /// How much longer a candidate takes at least than what beats it: estimates are a few per cent off, up to 5
  /// where GPUs have NVLink and 9, rarely more, behind PCIe (docs/plans.md).
  static constexpr double kClearly = 0.1;

 private:
  struct Candidate {
    PlanFigures least;
    std::size_t beaten_by = 0;
  };
  std::size_t keep_;
  std::vector<Candidate> candidates_;
};

}  // namespace lockstep
