#pragma once

#include <mutex>
#include <optional>

#include "search/embedding/candidates.hpp"

namespace lockstep {

/// The best plan of a search so far, which another thread may ask for.
class BestSoFar {
 public:
  void offer(const Candidate& candidate);

  /// Nothing: none has been simulated yet.
  [[nodiscard]] std::optional<Candidate> best() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Candidate> best_;
};

}  // namespace lockstep
