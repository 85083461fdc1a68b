#pragma once

#include <string>
#include <vector>

#include "app/search/candidates.hpp"
#include "app/search/device_loads.hpp"

namespace lockstep {

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
  /// What became of a method that has no simulated plan.
  [[nodiscard]] std::string why_none(const std::string& method) const;
  /// The fastest plan of a simple rule, or of TorchRec's; null: none fits.
  [[nodiscard]] const Candidate* best_rule() const;
  /// The scenario's own plan, simulated; null: it has none, or one that does not fit.
  [[nodiscard]] const Candidate* own() const;
};

/// The answer: step time, every plan against it, the load of each rank, and why it is better.
[[nodiscard]] std::string search_text(const ShardingProblem& problem, const SearchResult& result,
                                      const Candidate& best);

}  // namespace lockstep
