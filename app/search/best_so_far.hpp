#pragma once

#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "app/search/candidates.hpp"

namespace lockstep {

/// What a finished search writes beside plan.yaml.
inline constexpr std::array kFilesBesidePlan{"plan.json", "torchrec_plan.json", "load.svg"};

/// The best plan of a search so far, where Ctrl-C finds it.
class BestSoFar {
 public:
  void offer(const Candidate& candidate);

  /// Writes it as plan.yaml, and says so on stderr; nothing where there is none yet.
  /// @param scenario its name
  void keep_in(const std::filesystem::path& folder, const std::string& scenario);

 private:
  std::mutex mutex_;
  std::optional<Candidate> best_;
};

}  // namespace lockstep
