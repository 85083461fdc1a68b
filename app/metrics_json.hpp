#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/prediction.hpp"
#include "scenario/sensitivity.hpp"
#include "scenario/time_shares.hpp"

namespace lockstep {

/// The result as JSON (docs/results.md): times in seconds, sizes in bytes.
/// @param sensitivity empty where it was not asked for
[[nodiscard]] std::string metrics_json(const ResolvedScenario& resolved, const SimulationResult& result,
                                       const Sensitivity& sensitivity = {});

/// Links that report.html shows, the busiest. 100,000 ranks have 600,000 links.
constexpr std::size_t kLinksOfPage = 200;

/// The metrics of a run as its files have them.
class RunMetrics {
 public:
  /// @throws std::invalid_argument for inf and NaN, which JSON cannot say
  RunMetrics(const ResolvedScenario& resolved, const SimulationResult& result,
             const Sensitivity& sensitivity);

  /// Gives @p take the text of metrics_json() piece by piece: that of 100,000 ranks has 120 MB.
  void write(const std::function<void(std::string_view)>& take) const;

  /// The text with no more than kLinksOfPage links.
  [[nodiscard]] std::string of_page() const;

 private:
  void write(std::span<const LinkUtilisation> links, const std::function<void(std::string_view)>& take) const;

  Fabric fabric_;
  std::vector<LinkUtilisation> links_;
  std::string before_;  ///< members before `links`
  std::string behind_;
};

}  // namespace lockstep
