#pragma once

#include <string>
#include <vector>

#include "search/embedding/candidates.hpp"

namespace lockstep {

/// Whether a plan is one of Lockstep's own methods'.
[[nodiscard]] bool is_ours(const Candidate& candidate);

/// What ended a search before it had looked at all.
struct SearchEnd {
  bool effort = false;
  bool time = false;
};

struct SearchResult {
  std::vector<Candidate> candidates;
  std::vector<std::string> left_out;  ///< methods for which no time was left
  SearchEnd end;

  /// The fastest simulated plan of @p method: of all where that is `all`, of ours and NeuroShard's and all
  /// rules' where it is `lockstep`, which may take any of them. Null: it has none.
  [[nodiscard]] const Candidate* best_of(const std::string& method) const;
  /// The fate of a method that has no simulated plan.
  [[nodiscard]] std::string why_none(const std::string& method) const;
  /// The fastest plan of a simple rule, or of TorchRec's; null: none fits.
  [[nodiscard]] const Candidate* best_rule() const;
  /// The scenario's own plan, simulated; null: it has none, or one that does not fit.
  [[nodiscard]] const Candidate* own() const;
};

}  // namespace lockstep
