#pragma once

#include <string>

#include "app/metrics_json.hpp"
#include "app/report/page_timeline.hpp"
#include "scenario/prediction.hpp"

namespace lockstep {

/// One sentence with the step time, its band, and what bounds it.
[[nodiscard]] std::string answer_sentence(const ResolvedScenario& resolved, const SimulationResult& result);

/// Texts that `lockstep run` writes into files, too.
struct RunTexts {
  std::string metrics;   ///< RunMetrics::of_page()
  std::string scenario;  ///< effective.yaml
};

/// report.html of `lockstep run`.
/// @param timeline null: no timeline was asked for
[[nodiscard]] std::string run_page(const ResolvedScenario& resolved, const SimulationResult& result,
                                   RunTexts texts, PageTimeline* timeline);

}  // namespace lockstep
