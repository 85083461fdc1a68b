#include "app/plans/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/counted.hpp"
#include "app/report.hpp"
#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "calibration/band.hpp"
#include "calibration/tie.hpp"
#include "scenario/memory_demand.hpp"
#include "search/plans/least_gpus.hpp"
#include "search/plans/plan_variants.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostOfFront = 30;  // rows of the table

std::string refusals_text(const PlanEnumeration& all) {
  std::string text;
  for (const auto& [why, count] : all.refused) {
    text += fmt::format("{} of them are not run: {}\n", count, why);
  }
  return text;
}

std::string failures_text(const PlanSearchResult& result) {
  std::string text;
  for (const auto& [message, failure] : result.failures) {
    text += fmt::format("{} failed, the first ({}): {}\n", plural(failure.count, "simulation"), failure.first,
                        message.substr(0, message.find('\n')));
  }
  return text;
}

std::string looked_at_text(const PlanSearchResult& result) {
  const PlanEnumeration& all = result.enumeration;
  std::string text = fmt::format("{} combinations, {} of them can be and are worth a look\n",
                                 all.combinations, all.candidates.size());
  for (const auto& [why, count] : all.pruned) {
    text += fmt::format("  {:>10}  {}\n", count, reason_of(why));
  }
  text += refusals_text(all);
  text += fmt::format("fast model: {} of {} stages simulated, {} plans estimated to fit{}\n",
                      result.probes_run, result.probes, result.estimated.size(),
                      result.balanced == 0
                          ? ""
                          : fmt::format(", {} of them with uneven stages (stage_layers)", result.balanced));
  if (result.plans.empty() && !result.too_big.empty()) {
    text += fmt::format("simulated: {} plans, of which none fits\n", result.too_big.size());
  }
  if (!result.plans.empty()) {
    const auto errors = result.estimate_errors();
    text += fmt::format(
        "simulated: {} plans that fit, {} that do not; estimates are off by {:.1f} % on average, from "
        "{:+.1f} "
        "to {:+.1f} %\n",
        result.plans.size(), result.too_big.size(), 100 * errors.mean, 100 * errors.least, 100 * errors.most);
  }
  text += failures_text(result);
  for (const auto& [gpus, left] : result.left) {
    text += fmt::format(
        "on {} GPUs the search ended with the {} fastest by estimate: {} more may be faster than the best; "
        "leave choices out (--only) to have them simulated\n",
        gpus, kMostSimulated, left);
  }
  if (result.out_of_time) {
    text += "time was up before all of this was looked at: a larger --budget may find better\n";
  }
  if (result.interruption != 0) {
    text += "stopped: the best so far\n";
  }
  return text;
}

/// The plan's share of the GPU's memory; 0 where that is not checked, or the plan not simulated.
double share_of_gpu(const FoundPlan& plan) {
  return plan.evaluation && plan.evaluation->capacity > 0
             ? plan.evaluation->memory.total().in_base_units() / plan.evaluation->capacity
             : 0;
}

std::string memory_text(const FoundPlan& plan) {
  const double share = share_of_gpu(plan);
  const Bytes memory = plan.evaluation ? plan.evaluation->memory.total() : plan.estimate.memory;
  return to_string(memory) +
         (share > 0 ? fmt::format(" ({:.0f} %{})", 100 * share, share > kTight ? ", tight" : "") : "");
}

std::string table_text(const PlanEvaluator& evaluator, const std::vector<FoundPlan>& plans) {
  const bool has_price = evaluator.scenario().price_per_gpu_hour.has_value();
  std::string text =
      fmt::format("{:>5}  {:>10}  {:>12}  {:>6}  {:>10}{}  {:>23}  {:>4}  {}\n", "", "step time", "band",
                  "MFU", "tokens/s", has_price ? "  cost/Mtoken" : "", "memory", "GPUs", "plan");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Figures figures = figures_of_plan(evaluator, plans[i]);
    text += fmt::format("{:>5}  {:>10}  {:>12}  {:>6}  {:>10}{}  {:>23}  {:>4}  {}\n", i + 1,
                        to_string(Seconds{plans[i].figures().step}),
                        plans[i].evaluation ? in_words(calibrated(plans[i].evaluation->band)) : "est.",
                        figures.mfu ? fmt::format("{:.1f} %", 100 * *figures.mfu) : "",
                        counted(figures.tokens_per_s.value_or(0)),
                        has_price ? fmt::format("  {:>11.4g}", *figures.cost_per_million) : "",
                        memory_text(plans[i]), plans[i].candidate.gpus, in_words(plans[i].candidate));
  }
  if (std::ranges::any_of(plans, [](const FoundPlan& plan) { return share_of_gpu(plan) > kTight; })) {
    text += fmt::format(
        "tight: above {:.0f} % of the GPU's memory, of which predictions are a few per cent off: it may not "
        "fit, "
        "or wait for an allocator that finds no room\n",
        100 * kTight);
  }
  return text;
}

/// How many of the simulated plans cannot be told from the best by its band; "" where none.
std::string tie_text(const PlanSearchResult& result, const FoundPlan& best) {
  if (!best.evaluation) {
    return "";
  }
  const Band band = calibrated(best.evaluation->band);
  const auto ties = std::ranges::count_if(result.plans, [&](const FoundPlan& plan) {
    return plan.candidate.gpus == best.candidate.gpus &&
           is_tie(best.figures().step, plan.figures().step, band);
  });
  return ties > 1 ? fmt::format("a tie: {} more of the {} simulated plans lie within the best one's band\n",
                                ties - 1, result.plans.size())
                  : "";
}

int own_gpus(const PlanEvaluator& evaluator) {
  const ScenarioSpec& scenario = evaluator.scenario();
  return place_ranks(scenario.parallelism, node_sizes(scenario.cluster->fabric())).ranks;
}

/// Beside a plan of another number of GPUs: what both make of each.
std::string own_on_other_gpus(const PlanEvaluator& evaluator, const PlanEvaluation& own,
                              const FoundPlan& best) {
  const auto of_each = [&](double step, int gpus) {
    return static_cast<double>(evaluator.problem().global_batch) / step / gpus;
  };
  const int gpus = best.candidate.gpus;
  return fmt::format(
      "the scenario's own plan is on {} GPUs: {}, {:.4g} samples/s on each; the best here on {}: {}, "
      "{:.4g}\n",
      own_gpus(evaluator), Seconds{own.step}, of_each(own.step, own_gpus(evaluator)), gpus,
      Seconds{best.figures().step}, of_each(best.figures().step, gpus));
}

std::string own_text(const PlanEvaluator& evaluator, const PlanSearchResult& result, const FoundPlan& best) {
  const bool on_others = best.candidate.gpus != own_gpus(evaluator);
  const std::string where = on_others ? fmt::format(", on {} GPUs,", own_gpus(evaluator)) : "";
  if (!result.own) {
    const std::string& why = result.own_failure;
    return fmt::format("the scenario's own plan{} was not simulated: {}\n", where,
                       why.empty() ? "there was no time" : why.substr(0, why.find('\n')));
  }
  if (!result.own->fits()) {
    return fmt::format("the scenario's own plan{} does not fit: {}\n", where, result.own->memory.total());
  }
  if (on_others) {
    return own_on_other_gpus(evaluator, *result.own, best);
  }
  const double ratio = best.figures().step / result.own->step;
  return fmt::format("the scenario's own plan: {}; the best {}\n", Seconds{result.own->step},
                     ratio < 1 ? fmt::format("takes {:.1f} % less", 100 * (1 - ratio)) : "is no faster");
}

}  // namespace

namespace {

/// How many GPUs would do, as far as is known without building them.
std::string more_gpus_text(const PlanEvaluator& evaluator) {
  const PlanProblem& problem = evaluator.problem();
  const Fabric fabric = evaluator.scenario().cluster->fabric();
  const auto all = static_cast<int>(fabric.gpus().size());
  const auto least = least_gpus(problem, problem.gpus.back(), [&](Bytes bound) {
    return evaluator.whole_memory(bound) <= evaluator.capacity();
  });
  if (!least) {
    return "  a smaller model or shorter sequences";
  }
  if (*least <= all) {
    return fmt::format("  more of the cluster's GPUs: --gpus {}", *least);
  }
  const bool has_nics = std::ranges::any_of(
      fabric.vertices(), [](const Vertex& vertex) { return vertex.kind == VertexKind::Nic; });
  if (!has_nics) {
    return fmt::format(
        "  a larger node, or a cluster of nodes with NICs, which this one has not: {} GPUs, as estimated\n  "
        "a "
        "smaller model or shorter sequences",
        *least);
  }
  return fmt::format(
      "  more GPUs in the cluster: {}, as estimated ({} nodes of {})\n  a smaller model or shorter sequences",
      *least, *least / problem.gpus_of_node, problem.gpus_of_node);
}

std::string remedies_text(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  const FoundPlan& leanest = result.too_big.front();
  std::string text = fmt::format("What would make it fit:\n  GPUs with at least {}\n",
                                 to_string(leanest.evaluation->memory.total()));
  const PlanProblem& problem = evaluator.problem();
  if (problem.types.is_pure() && !problem.base.is_fsdp()) {
    text +=
        "  FSDP: 'parallelism: { sharding: zero3, zero3_implementation: fsdp2 }' in the scenario has it "
        "searched\n";
  }
  if (const std::string_view why = why_not_offloaded(problem); !why.empty()) {
    text += fmt::format("  not offload to the host: it was not tried, for {}\n", why);
  } else if (!result.offloaded.empty()) {
    const FoundPlan& best = result.offloaded.front();
    text +=
        fmt::format("  offload to the host, e.g. {}: {} of GPU memory, {:.0f} % of the host's, {} a step\n",
                    in_words(best.candidate), to_string(best.evaluation->memory.total()),
                    100 * best.evaluation->host_share, to_string(Seconds{best.evaluation->step}));
  }
  return text + more_gpus_text(evaluator);
}

}  // namespace

std::string plan_text(const PlanEvaluator& evaluator, const PlanCandidate& candidate) {
  std::vector<std::string> keys;
  for (const YamlEntry& entry : changes_of(evaluator.parallelism_of(candidate)).entries) {
    keys.push_back(fmt::format("{}: {}", entry.key, flow_text(entry.value)));
  }
  const bool accumulates = evaluator.scenario().workload->gradient_accumulation != 1;
  return fmt::format("parallelism: {{ {} }}, workload: {{ {}micro_batch: {} }}", fmt::join(keys, ", "),
                     accumulates ? "gradient_accumulation: 1, " : "", candidate.micro_batch);
}

Figures figures_of_plan(const PlanEvaluator& evaluator, const FoundPlan& plan) {
  return figures_of(evaluator.scenario(), plan.figures().step, static_cast<std::size_t>(plan.candidate.gpus),
                    Seconds{plan.evaluation ? plan.evaluation->at_peak : 0});
}

std::string gaps_text(const PlanSearchResult& result) {
  if (!result.has_gaps()) {
    return "";
  }
  std::vector<std::string> gaps;
  if (result.not_estimated > 0) {
    gaps.push_back(fmt::format("{} of {} plans were not estimated, for simulations of {} of {} stages failed",
                               result.not_estimated, result.enumeration.candidates.size(),
                               result.failed_probes, result.probes));
  }
  if (!result.failed.empty()) {
    gaps.push_back(fmt::format("simulations of {} failed", plural(result.failed.size(), "plan")));
  }
  return fmt::format("incomplete: {}; a better plan may be among them", fmt::join(gaps, ", and "));
}

std::vector<FoundPlan> best_plans(const PlanSearchResult& result, std::size_t keep) {
  const bool is_refuted = result.plans.empty() && !result.failed.empty();  // none of the best can be run
  std::vector<FoundPlan> plans = !result.plans.empty() ? result.plans
                                 : is_refuted          ? std::vector<FoundPlan>{}
                                                       : result.estimated;
  std::erase_if(plans, [&](const FoundPlan& plan) {  // simulated, and found not to fit
    return std::ranges::find(result.too_big, plan.candidate, &FoundPlan::candidate) != result.too_big.end();
  });
  plans.resize(std::min(plans.size(), keep));
  return plans;
}

namespace {

/// The fastest that was simulated on each number of GPUs.
std::vector<FoundPlan> best_of_gpus(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  std::vector<FoundPlan> best;
  for (const int gpus : evaluator.problem().gpus) {
    const auto plan = std::ranges::find_if(
        result.plans, [&](const FoundPlan& found) { return found.candidate.gpus == gpus; });
    if (plan != result.plans.end()) {
      best.push_back(*plan);
    }
  }
  return best;
}

}  // namespace

std::string plans_text(const PlanEvaluator& evaluator, const PlanSearchResult& result, std::size_t keep) {
  const std::vector<FoundPlan> best = best_plans(result, keep);
  std::string text = fmt::format("{}\n\n{}\n", evaluator.scenario().name, looked_at_text(result));
  if (result.has_gaps()) {
    text += gaps_text(result) + "\n\n";
  }
  text += fmt::format("the fastest\n{}\n", table_text(evaluator, best));
  text += fmt::format("{}\n{}{}\n", plan_text(evaluator, best.front().candidate),
                      tie_text(result, best.front()), own_text(evaluator, result, best.front()));
  if (evaluator.problem().gpus.size() > 1) {
    text += fmt::format("the fastest of each number of GPUs\n{}\n",
                        table_text(evaluator, best_of_gpus(evaluator, result)));
  }
  if (!result.front.empty()) {
    std::vector<FoundPlan> front = result.front;
    front.resize(std::min(front.size(), kMostOfFront));
    text += fmt::format("Pareto front of step time, memory and GPUs, of what was simulated\n{}",
                        table_text(evaluator, front));
    if (result.front.size() > front.size()) {
      text += fmt::format("       and {} more in plans.json\n", result.front.size() - front.size());
    }
  }
  return text;
}

std::string nothing_to_search_text(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  const PlanProblem& problem = evaluator.problem();
  std::string text = fmt::format(
      "no parallel plan can be: of {} combinations of global_batch {}, {} layers, {} heads and {} GPUs\n",
      result.enumeration.combinations, problem.global_batch, problem.model.layers, problem.model.heads,
      fmt::join(problem.gpus, ", "));
  for (const auto& [why, count] : result.enumeration.pruned) {
    text += fmt::format("  {:>10}  {}\n", count, reason_of(why));
  }
  text += refusals_text(result.enumeration);
  return text + "Allow more choices (--only), or another global_batch";
}

std::string nothing_built_text(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  return fmt::format("{}\n\n{}\n{}", evaluator.scenario().name, looked_at_text(result),
                     result.out_of_time ? "no plan was built in this time: a larger --budget is needed"
                                        : "no plan was built: simulations failed, as told above");
}

std::string no_plan_text(const PlanEvaluator& evaluator, const PlanSearchResult& result) {
  std::string text = fmt::format("{}\n\n{}\n", evaluator.scenario().name, looked_at_text(result));
  if (result.has_gaps()) {
    text += gaps_text(result) + "\n\n";
  }
  const FoundPlan& leanest = result.too_big.front();
  const PlanEvaluation& memory = leanest.evaluation.value();
  if (memory.host_share > 1) {
    return text + fmt::format("no plan fits: the leanest, {}, needs {:.0f} % of its host's memory",
                              in_words(leanest.candidate), 100 * memory.host_share);
  }
  text += fmt::format("no plan {}fits. The leanest, {} on {} GPUs, needs {} of a GPU's {}:\n{}",
                      result.has_gaps() ? "that could be simulated " : "", in_words(leanest.candidate),
                      leanest.candidate.gpus, to_string(memory.memory.total()),
                      to_string(Bytes{memory.capacity}), memory_lines(memory.memory, Bytes{memory.capacity}));
  return text + remedies_text(evaluator, result);
}

}  // namespace lockstep
