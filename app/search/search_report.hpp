#pragma once

#include <string>

#include "search/embedding/search_result.hpp"

namespace lockstep {

/// The answer: step time, every plan against it, the load of each rank, and why it is better.
[[nodiscard]] std::string search_text(const ShardingProblem& problem, const SearchResult& result,
                                      const Candidate& best);

/// The best plan in one sentence, against the best simple rule.
[[nodiscard]] std::string search_sentence(const SearchResult& result, const Candidate& best);

/// {step_s, plans: [{name, step_s or why_none, remark}]}, fastest first.
[[nodiscard]] std::string search_json(const SearchResult& result, const Candidate& best);

}  // namespace lockstep
