#include "app/report/run_page.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "app/report.hpp"
#include "app/report/page.hpp"
#include "calibration/band.hpp"
#include "scenario/trust.hpp"
#include "topology/render_svg.hpp"

namespace lockstep {
namespace {

constexpr int kDrawnNodes = 2;

/// Share of its bandwidth that each link is used, by its number.
std::vector<double> use_of_links(const ResolvedScenario& resolved, const SimulationResult& result) {
  std::vector<double> used(resolved.fabric.links().size());
  for (const LinkUse& use : result.links) {
    const Link& link = resolved.fabric.links()[use.link];
    used[use.link] = use.bytes / (link.bandwidth.in_base_units() * result.step_ends.back());
  }
  return used;
}

}  // namespace

std::string answer_sentence(const ResolvedScenario& resolved, const SimulationResult& result) {
  return fmt::format("A step takes {}, {}, on {}; it is {}.", to_string(result.mean_step()),
                     in_words(around(step_band(resolved, result))), plural(resolved.job.ranks.size(), "GPU"),
                     bottleneck(resolved, result));
}

std::string run_page(const ResolvedScenario& resolved, const SimulationResult& result, RunTexts texts,
                     PageTimeline* timeline) {
  Page page{"run", resolved.scenario.name, answer_sentence(resolved, result), std::move(texts.metrics)};
  if (timeline != nullptr) {
    timeline->light(result.path_pieces);
    page.timeline = timeline->json(result.step_ends);
  }
  page.machine = to_svg(resolved.fabric, {kDrawnNodes, use_of_links(resolved, result)});
  page.scenario = std::move(texts.scenario);
  return page_html(page);
}

}  // namespace lockstep
