// How far the estimates of `lockstep plan` are from what is simulated, and whether they pick what is fastest:
// plans drawn from the better half, by closed-form step time, of what fits, for models of 1 to 405 billion
// parameters on 8 to 1,024 GPUs.
//
//   plan_estimates [PLANS] [FAMILY] [JOBS]      PLANS of each family (24); all families whose name has FAMILY
//   in it
//
//   plan_estimates --set SET.yaml FOLDER JOBS [COLUMN...]
//
// The same for the measured plans of a validation set, whose tables are in FOLDER, and what is picked where
// COLUMNs are equal (left out: as the set's `picks` says) by estimates and by simulation.
//
// A line for each plan, then a table. Deterministic but for the times that it took.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/plan_picks.hpp"
#include "calibration/rank_correlation.hpp"
#include "calibration/validate.hpp"
#include "scenario/row_predictions.hpp"
#include "search/plans/closed_form_step.hpp"
#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_probes.hpp"
#include "search/plans/plan_tasks.hpp"

namespace {

using namespace lockstep;

struct Family {
  const char *model, *cluster, *gpu;
  int gpus;
  std::int64_t batch;
};
constexpr std::array kFamilies{
    Family{"gpt3_1b3", "dgx_a100 x 1", "a100_40gb", 8, 64},
    Family{"gpt3_1b3", "dgx_a100 x 2", "a100_40gb", 16, 128},
    Family{"gpt3_6b7", "dgx_a100 x 4", "a100_80gb", 32, 128},
    Family{"gpt3_13b", "dgx_a100 x 8", "a100_80gb", 64, 256},
    Family{"gpt3_175b", "dgx_a100 x 16", "a100_80gb", 128, 64},
    Family{"gpt3_175b", "dgx_a100 x 64", "a100_80gb", 512, 768},
    Family{"llama2_7b", "dgx_h100 x 1", "h100_80gb", 8, 64},
    Family{"llama2_7b", "dgx_h100 x 16", "h100_80gb", 128, 512},
    Family{"llama3_8b", "dgx_h100 x 8", "h100_80gb", 64, 128},
    Family{"llama2_70b", "dgx_h100 x 8", "h100_80gb", 64, 128},
    Family{"llama3_70b", "dgx_h100 x 32", "h100_80gb", 256, 256},
    Family{"llama3_405b", "dgx_h100 x 128", "h100_80gb", 1024, 256},
    Family{"mixtral_8x7b", "dgx_h100 x 4", "h100_80gb", 32, 64},
    Family{"mixtral_8x22b", "dgx_h100 x 16", "h100_80gb", 128, 256},
    Family{"gpt3_175b", "dgx_h100 x 16", "h100_80gb", 128, 256},
};

std::string name_of(const Family& family) {
  return fmt::format("{}, {} {}, batch {}", family.model, family.gpus, family.gpu, family.batch);
}

YamlDocument scenario_of(const Family& family) {
  return YamlDocument::from_text(
      fmt::format(
          "name: drawn\ncluster: {}\ngpu: {}\nworkload: {{ model: {}, global_batch: {}, precision: bf16 }}\n"
          "steps: 2\n",
          family.cluster, family.gpu, family.model, family.batch),
      "drawn");
}

/// Draws @p count plans from the better half, by closed-form step time, of those that may fit.
std::vector<PlanCandidate> drawn(const PlanEvaluator& evaluator, std::vector<PlanCandidate> candidates,
                                 std::size_t count) {
  std::erase_if(candidates, [&](const PlanCandidate& candidate) {
    return evaluator.whole_memory(memory_bound(candidate, evaluator.problem())) > evaluator.capacity();
  });
  const MachineRates rates = evaluator.rates();
  std::ranges::stable_sort(candidates, {}, [&](const PlanCandidate& candidate) {
    return closed_form_step_time(candidate, evaluator.problem(), rates).in_base_units();
  });
  candidates.resize((candidates.size() + 1) / 2);
  const Random random{1, "plan estimates"};
  std::map<std::uint64_t, std::size_t> order;  // of all, by what was drawn
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    order.emplace(random.bits(i), i);
  }
  std::vector<PlanCandidate> chosen;
  for (const auto& [bits, i] : order) {
    if (chosen.size() < count) {
      chosen.push_back(candidates[i]);
    }
  }
  return chosen;
}

struct Pair {
  double estimated, simulated;
  [[nodiscard]] double off() const { return estimated / simulated - 1; }
};

/// Spearman's.
double order(const std::vector<Pair>& pairs) {
  std::vector<double> estimated, simulated;
  for (const Pair& pair : pairs) {
    estimated.push_back(pair.estimated);
    simulated.push_back(pair.simulated);
  }
  return rank_correlation(estimated, simulated).value_or(0);
}

/// How much longer the one estimated fastest takes than the fastest.
double regret(const std::vector<Pair>& pairs) {
  const auto picked = std::ranges::min_element(pairs, {}, &Pair::estimated);
  return picked->simulated / std::ranges::min_element(pairs, {}, &Pair::simulated)->simulated - 1;
}

/// Median, 90th percentile, least and most.
std::string in_columns(const std::vector<Pair>& pairs) {
  std::vector<double> off, wide;
  for (const Pair& pair : pairs) {
    off.push_back(100 * pair.off());
    wide.push_back(std::abs(off.back()));
  }
  std::ranges::sort(off);
  std::ranges::sort(wide);
  const auto at = [&](double share) {
    return wide[static_cast<std::size_t>(share * static_cast<double>(wide.size() - 1))];
  };
  return fmt::format("{} | {:.1f} | {:.1f} | {:+.1f} to {:+.1f}", pairs.size(), at(0.5), at(0.9), off.front(),
                     off.back());
}

/// Estimates all candidates again and again: what one takes, us of processor time.
double estimate_microseconds(const PlanEvaluator& evaluator, const PlanProbes& probes,
                             const std::vector<PlanCandidate>& candidates) {
  std::size_t count = 0;
  const std::clock_t begun = std::clock();
  while (std::clock() - begun < CLOCKS_PER_SEC / 5) {
    for (const PlanCandidate& candidate : candidates) {
      if (const auto costs = probes.costs_of(candidate)) {
        (void)estimate(candidate, *costs, evaluator.estimate_input(candidate));
        ++count;
      }
    }
  }
  return 1e6 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC /
         static_cast<double>(std::max<std::size_t>(count, 1));
}

struct FamilyResult {
  std::vector<Pair> pairs;
  double microseconds = 0;
};

FamilyResult compare(const Family& family, std::size_t count, std::size_t jobs) {
  PlanEvaluator evaluator{scenario_of(family), ConfigPath::standard(), {family.gpus}};
  const PlanEnumeration all = enumerate_plans(evaluator.problem(), usual_space(evaluator.problem()));
  if (all.candidates.empty()) {
    fmt::print("  no plan can be\n");
    return {};
  }
  evaluator.prepare(all.candidates.front());
  const std::vector<PlanCandidate> candidates = drawn(evaluator, all.candidates, count);
  const Progress progress{false};
  PlanTasks tasks{jobs, progress};
  PlanProbes probes{evaluator, tasks, candidates,
                    [](std::size_t, const CostsOfStages&) { return std::nullopt; }};
  probes.run_relaxed();
  probes.run_others(candidates.size());
  const auto ends = tasks.run(
      candidates.size(), [&](std::size_t i) { fmt::print("{}", printed(evaluator.evaluate(candidates[i]))); },
      "simulating");
  FamilyResult result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto costs = probes.costs_of(candidates[i]);
    if (!costs || !ends[i] || !ends[i]->failure.empty()) {
      fmt::print("  failed: {}\n", in_words(candidates[i]));
      continue;
    }
    const PlanEvaluation evaluation = evaluation_in(ends[i]->printed);
    if (evaluation.step > 0) {
      const PlanEstimate found = estimate(candidates[i], *costs, evaluator.estimate_input(candidates[i]));
      result.pairs.push_back({found.step.in_base_units(), evaluation.step});
      fmt::print("  {:9.4f} s, estimated {:9.4f} s, {:+6.2f} %: {}\n", evaluation.step,
                 result.pairs.back().estimated, 100 * result.pairs.back().off(), in_words(candidates[i]));
    }
  }
  std::fflush(stdout);
  result.microseconds = estimate_microseconds(evaluator, probes, candidates);
  return result;
}

int compare_families(std::size_t count, const std::string& only, std::size_t jobs) {
  std::string table =
      "| family | plans | off by, median % | 90th percentile | range | rank correlation | regret % | "
      "estimate, us |\n";
  std::vector<Pair> all;
  int families = 0, exact = 0, near = 0;
  for (const Family& family : kFamilies) {
    if (name_of(family).find(only) == std::string::npos) {
      continue;
    }
    fmt::print("{}\n", name_of(family));
    const FamilyResult result = compare(family, count, jobs);
    if (result.pairs.size() < 2) {
      continue;
    }
    const double lost = regret(result.pairs);
    ++families;
    exact += lost == 0 ? 1 : 0;
    near += lost <= 0.01 / 3 ? 1 : 0;
    table += fmt::format("| {} | {} | {:.3f} | {:.2f} | {:.0f} |\n", name_of(family),
                         in_columns(result.pairs), order(result.pairs), 100 * lost, result.microseconds);
    all.insert(all.end(), result.pairs.begin(), result.pairs.end());
  }
  if (families == 0) {
    fmt::print(stderr, "no family whose name has '{}' in it, or none with two plans\n", only);
    return 2;
  }
  fmt::print("{}| all | {} | | | |\n", table, in_columns(all));
  fmt::print("the pick is the fastest in {} of {} families, within 1/3 % of it in {}\n", exact, families,
             near);
  return 0;
}

/// The plan that a scenario has.
PlanCandidate own_plan(const PlanEvaluator& evaluator) {
  const ScenarioSpec& scenario = evaluator.scenario();
  PlanCandidate own;
  own.plan = scenario.parallelism.transformer;
  own.gpus = evaluator.problem().gpus.front();
  own.data = own.gpus / (own.plan.tensor * own.plan.context * own.plan.pipeline);
  own.micro_batch = scenario.workload->micro_batch.value_or(scenario.workload->global_batch / own.data /
                                                            scenario.workload->gradient_accumulation);
  own.micro_batches = static_cast<int>(scenario.workload->global_batch / own.data / own.micro_batch);
  return own;
}

std::vector<PredictedTimes> estimates_of(const std::string& name, std::span<const ScenarioSettings> rows) {
  std::vector<PredictedTimes> all;
  for (const ScenarioSettings& row : rows) {
    YamlDocument document = YamlDocument::from_text(fmt::format("name: a row of {}\n", name), name);
    for (const auto& [key, value] : row) {
      document.set(key, value);
    }
    PlanEvaluator evaluator{std::move(document), ConfigPath::standard(), {}};
    const PlanCandidate own = own_plan(evaluator);
    evaluator.prepare(own);
    const StageProbe probe = probe_of(own);
    const StageCosts costs = stage_costs(sizes_of(probe), evaluator.stages().answers(probe));
    all.push_back({estimate(own, costs, evaluator.estimate_input(own)).step, Seconds{0}});
  }
  return all;
}

/// Picks among the measured plans of a validation set: by estimates, and by simulation.
int compare_picks(const std::string& file, const std::string& folder, std::vector<std::string> within,
                  std::size_t jobs) {
  auto set = read_file<ValidationSet>(file, ConfigPath::standard());
  if (!within.empty()) {
    set.picks = PicksSpec{.within = std::move(within), .share = {}};
  }
  set.measured.gpu_busy.reset();
  const auto estimated = validate(
      set, folder, [&](std::span<const ScenarioSettings> rows) { return estimates_of(set.name, rows); });
  const auto simulated = validate(set, folder, [&](std::span<const ScenarioSettings> rows) {
    return predict_side_by_side(std::vector{step_rows(set.name, rows, ConfigPath::standard())}, jobs).front();
  });
  if (!simulated.refused.empty() || !estimated.refused.empty()) {
    throw std::invalid_argument{"rows of this set are refused: see lockstep validate"};
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < simulated.points.size(); ++i) {
    pairs.push_back({estimated.points[i].step.predicted.in_base_units(),
                     simulated.points[i].step.predicted.in_base_units()});
    fmt::print("  {:9.4f} s measured, {:9.4f} s simulated, estimate {:+6.2f} %: {}\n",
               simulated.points[i].step.measured.in_base_units(), pairs.back().simulated,
               100 * pairs.back().off(), fmt::join(simulated.points[i].labels, ", "));
  }
  fmt::print("| {} | {} |\nby estimates{}by simulation{}", set.name, in_columns(pairs),
             plan_picks_text(estimated), plan_picks_text(simulated));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> given{arguments + 1, arguments + count};
  try {
    if (given.size() > 3 && given[0] == "--set") {
      return compare_picks(given[1], given[2], {given.begin() + 4, given.end()}, std::stoul(given[3]));
    }
    return compare_families(!given.empty() ? std::stoul(given[0]) : 24, given.size() > 1 ? given[1] : "",
                            given.size() > 2 ? std::stoul(given[2]) : 1);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
}
