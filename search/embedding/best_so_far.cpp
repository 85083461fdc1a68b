#include "search/embedding/best_so_far.hpp"

namespace lockstep {

void BestSoFar::offer(const Candidate& candidate) {
  const std::scoped_lock lock{mutex_};
  if (candidate.step && (!best_ || *candidate.step < *best_->step)) {
    best_ = candidate;
  }
}

std::optional<Candidate> BestSoFar::best() const {
  const std::scoped_lock lock{mutex_};
  return best_;
}

}  // namespace lockstep
