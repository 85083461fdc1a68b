#pragma once

#include <string>

#include "search/embedding/search_result.hpp"

namespace lockstep {

/// The answer: step time, every plan against it, the load of each rank, and why it is better.
[[nodiscard]] std::string search_text(const ShardingProblem& problem, const SearchResult& result,
                                      const Candidate& best);

}  // namespace lockstep
