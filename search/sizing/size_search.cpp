#include "search/sizing/size_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "calibration/tie.hpp"
#include "scenario/grown_cluster.hpp"

namespace lockstep {
namespace {

constexpr double kSecondsPerDay = 86400;
constexpr double kMillion = 1e6;

/// The scenario's documents by size: each number of GPUs with each number of NICs.
std::vector<std::pair<ClusterSize, YamlDocument>> documents_of(const OpenedScenario& scenario,
                                                               const SizeQuestion& question) {
  std::vector<int> gpus = question.gpus;
  std::ranges::sort(gpus);
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  std::vector<std::optional<int>> nics(question.nics.begin(), question.nics.end());
  if (nics.empty()) {
    nics.emplace_back();
  }
  std::vector<std::pair<ClusterSize, YamlDocument>> made;
  for (const int number : gpus) {
    for (const std::optional<int>& plugged : nics) {
      YamlDocument document = scenario.document;
      if (plugged) {
        document.set("cluster.network.nics_per_node", std::to_string(*plugged));
      }
      GrownCluster grown = with_gpus(std::move(document), scenario.configs, number);
      made.emplace_back(ClusterSize{number, grown.nodes, plugged}, std::move(grown.document));
    }
  }
  return made;
}

std::string why_none(const PlanSearchResult& result) {
  if (result.enumeration.candidates.empty()) {
    return "no plan can be: batch, heads, layers or experts do not divide";
  }
  if (!result.too_big.empty()) {
    const PlanEvaluation& leanest = result.too_big.front().evaluation.value();
    return fmt::format("no plan fits: the leanest needs {} of a GPU's {}", to_string(leanest.memory.total()),
                       to_string(Bytes{leanest.capacity}));
  }
  if (!result.failures.empty()) {
    const std::string& message = result.failures.begin()->first;
    return "simulations failed: " + message.substr(0, message.find('\n'));
  }
  return "time was up before a plan was found: a larger --budget is needed";
}

/// The fastest simulated plan; where time was up before any, the fastest by the estimates.
std::optional<FoundPlan> fastest_of(const PlanSearchResult& result) {
  if (!result.plans.empty()) {
    return result.plans.front();
  }
  const bool is_open = result.too_big.empty() && result.failed.empty() && !result.estimated.empty();
  return is_open ? std::optional{result.estimated.front()} : std::nullopt;
}

void work_out(ClusterSize& size, const std::optional<double>& tokens) {
  const PlanEvaluator& evaluator = *size.evaluator;
  const auto& evaluation = size.plan->evaluation;
  if (evaluation) {
    size.band = calibrated(evaluation->band);
  }
  size.figures = figures_of(evaluator.scenario(), size.step(), static_cast<std::size_t>(size.gpus),
                            Seconds{evaluation ? evaluation->at_peak : 0});
  if (tokens && size.figures.tokens_per_s) {
    size.days = *tokens / *size.figures.tokens_per_s / kSecondsPerDay;
  }
  if (tokens && size.figures.cost_per_million) {
    size.cost = *size.figures.cost_per_million * *tokens / kMillion;
  }
}

/// The least by @p value of those that @p counts lets through.
template <class Counts, class Value>
std::optional<std::size_t> least(const std::vector<ClusterSize>& sizes, Counts counts, Value value) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].plan && counts(sizes[i]) && (!found || value(sizes[i]) < value(sizes[*found]))) {
      found = i;
    }
  }
  return found;
}

}  // namespace

void choose(SizeAnswer& answer, const std::optional<double>& most_days) {
  const double deadline = most_days.value_or(std::numeric_limits<double>::infinity());
  const auto any = [](const ClusterSize& /*size*/) { return true; };
  const auto in_time = [&](const ClusterSize& size) { return size.days.value_or(0) <= deadline; };
  answer.fastest = least(answer.sizes, any, [](const ClusterSize& size) { return size.step(); });
  answer.best = least(answer.sizes, in_time, [](const ClusterSize& size) { return size.gpu_seconds(); });
  answer.meets_deadline = answer.best.has_value();
  if (!answer.best) {
    answer.best = answer.fastest;
  }
  if (!answer.best || !answer.sizes[*answer.best].band || !answer.meets_deadline) {
    return;
  }
  const ClusterSize& best = answer.sizes[*answer.best];
  for (std::size_t i = 0; i < answer.sizes.size(); ++i) {
    const ClusterSize& other = answer.sizes[i];
    if (i != *answer.best && other.plan && in_time(other) &&
        is_tie(best.gpu_seconds(), other.gpu_seconds(), *best.band)) {
      answer.ties.push_back(i);
    }
  }
}

SizeAnswer size_cluster(const OpenedScenario& scenario, const SizeQuestion& question,
                        PlanSearchOptions options, const Progress& progress) {
  auto documents = documents_of(scenario, question);
  options.is_only_fastest = true;
  options.keep = 1;
  if (options.budget) {
    *options.budget /= static_cast<double>(documents.size());
  }
  SizeAnswer answer;
  for (auto& [size, document] : documents) {
    progress.say(fmt::format("{} GPUs", size.gpus));
    auto evaluator =
        std::make_shared<PlanEvaluator>(std::move(document), scenario.configs, std::vector<int>{size.gpus});
    const PlanSpace space = question.space_of(evaluator->problem());
    const PlanSearchResult result = search_plans(*evaluator, space, options, progress);
    answer.interruption = result.interruption;
    size.evaluator = std::move(evaluator);
    size.plan = fastest_of(result);
    size.is_complete = !result.has_gaps() && !result.out_of_time && result.interruption == 0;
    if (size.plan) {
      work_out(size, question.tokens);
    } else {
      size.why_none = why_none(result);
      size.is_too_big = !result.too_big.empty() && !result.has_gaps();
    }
    answer.sizes.push_back(std::move(size));
    if (answer.interruption != 0) {
      break;
    }
  }
  choose(answer, question.most_days);
  return answer;
}

}  // namespace lockstep
