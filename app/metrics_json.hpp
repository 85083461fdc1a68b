#pragma once

#include <cstddef>
#include <string>

#include "scenario/prediction.hpp"
#include "scenario/sensitivity.hpp"

namespace lockstep {

/// The result as JSON (docs/results.md): times in seconds, sizes in bytes.
/// @param sensitivity empty where it was not asked for
[[nodiscard]] std::string metrics_json(const ResolvedScenario& resolved, const SimulationResult& result,
                                       const Sensitivity& sensitivity = {});

/// Links that report.html shows, the busiest. 100,000 ranks have 600,000 links.
constexpr std::size_t kLinksOfPage = 200;

/// The metrics of a run as its files have them.
struct RunMetrics {
  std::string all;      ///< metrics_json()
  std::string of_page;  ///< with no more than kLinksOfPage links
};

[[nodiscard]] RunMetrics run_metrics(const ResolvedScenario& resolved, const SimulationResult& result,
                                     const Sensitivity& sensitivity);

}  // namespace lockstep
