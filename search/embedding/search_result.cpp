#include "search/embedding/search_result.hpp"

#include <algorithm>

#include "search/embedding/own_plan.hpp"

namespace lockstep {

bool is_ours(const Candidate& candidate) {
  return candidate.name.starts_with("lockstep");
}

namespace {

bool is_rule(const Candidate& candidate) {
  const bool learns = candidate.name == "autoshard" || candidate.name == "dreamshard";
  return !is_ours(candidate) && !learns && candidate.name.find("neuroshard") != 0 &&
         candidate.name != "exact" && candidate.name != kOwnPlan;
}

template <class Counts>
const Candidate* fastest(const std::vector<Candidate>& candidates, Counts counts) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.step && counts(candidate) && (best == nullptr || *candidate.step < *best->step)) {
      best = &candidate;
    }
  }
  return best;
}

}  // namespace

const Candidate* SearchResult::best_of(const std::string& method) const {
  return fastest(candidates, [&](const Candidate& candidate) {
    return method == "all" || method == "lockstep" || candidate.name == method;
  });
}

const Candidate* SearchResult::best_rule() const {
  return fastest(candidates, is_rule);
}

std::string SearchResult::why_none(const std::string& method) const {
  const auto found = std::ranges::find(candidates, method, &Candidate::name);
  return found == candidates.end() ? "it was not looked for" : found->why_no_step;
}

const Candidate* SearchResult::own() const {
  return fastest(candidates, [](const Candidate& candidate) { return candidate.name == kOwnPlan; });
}

}  // namespace lockstep
