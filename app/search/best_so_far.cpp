#include "app/search/best_so_far.hpp"

#include <fmt/core.h>

#include "base/file.hpp"

namespace lockstep {

void BestSoFar::offer(const Candidate& candidate) {
  const std::scoped_lock lock{mutex_};
  if (candidate.step && (!best_ || *candidate.step < *best_->step)) {
    best_ = candidate;
  }
}

void BestSoFar::keep_in(ResultFolder& folder, const std::string& scenario) {
  const std::scoped_lock lock{mutex_};
  if (!best_) {
    folder.abandon();
    return;
  }
  write_whole_file(folder.staged() / "plan.yaml", plan_text(best_->plan, scenario + ": " + best_->name));
  folder.commit();
  fmt::print(stderr, "\nstopped: the best plan so far ({}, {} a step) is {}\n", best_->name, *best_->step,
             (folder.path() / "plan.yaml").string());
}

}  // namespace lockstep
