#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "app/result_folder.hpp"
#include "app/search/candidates.hpp"

namespace lockstep {

/// The best plan of a search so far, where Ctrl-C finds it.
class BestSoFar {
 public:
  void offer(const Candidate& candidate);

  /// Puts it in place as plan.yaml, and says so on stderr; nothing where there is none yet.
  /// @param scenario its name
  void keep_in(ResultFolder& folder, const std::string& scenario);

 private:
  std::mutex mutex_;
  std::optional<Candidate> best_;
};

}  // namespace lockstep
