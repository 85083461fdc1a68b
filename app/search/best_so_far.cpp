#include "app/search/best_so_far.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "app/result_folder.hpp"
#include "base/file.hpp"

namespace lockstep {

void BestSoFar::offer(const Candidate& candidate) {
  const std::scoped_lock lock{mutex_};
  if (candidate.step && (!best_ || *candidate.step < *best_->step)) {
    best_ = candidate;
  }
}

void BestSoFar::keep_in(const std::filesystem::path& folder, const std::string& scenario) {
  const std::scoped_lock lock{mutex_};
  if (!best_) {
    std::error_code not_empty;
    std::filesystem::remove(folder, not_empty);
    return;
  }
  remove_old(folder, [](const std::string& name) { return std::ranges::count(kFilesBesidePlan, name) > 0; });
  write_whole_file(folder / "plan.yaml", plan_text(best_->plan, scenario + ": " + best_->name));
  fmt::print(stderr, "\nstopped: the best plan so far ({}, {} a step) is {}\n", best_->name, *best_->step,
             (folder / "plan.yaml").string());
}

}  // namespace lockstep
