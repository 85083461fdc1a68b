// Searches on drawn DLRMs, all plans simulated: the mean step of every method, Lockstep's among them, and how
// often the fastest of seven given plans is told on a machine whose kernels differ from the models.
//
//   search_comparison TABLES.json CLUSTER GPUS TABLES WIDEST TASKS [heavy|any|ahead]
//     e.g. "dgx1v x 1" 4 40 128 10; heavy, any: the seven plans alone; ahead: indices come before the step

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/drawn_models.hpp"
#include "bench/other_machine.hpp"
#include "search/embedding/refinement.hpp"

namespace {

using namespace lockstep;

/// How far lockstep's steps are from those of the best placements of whole tables under the fast models.
struct Gap {
  int tasks = 0;
  double sum = 0, most = -INFINITY;

  void add(double ours, double exact) {
    ++tasks;
    sum += ours / exact - 1;
    most = std::max(most, ours / exact - 1);
  }
  void print() const {
    if (tasks > 0) {
      fmt::print("  lockstep's step against exact's: {:+.2f} % in the mean of {}, at most {:+.2f} %\n",
                 100 * sum / tasks, tasks, 100 * most);
    }
  }
};

/// The time left to gain by whole and column-wise tables, under the fast models.
struct Bound {
  [[nodiscard]] Seconds left() const { return tasks > 0 ? (found - least) / tasks : Seconds{0}; }

  int tasks = 0;
  Seconds found, least;

  void add(const ShardingProblem& problem) {
    const sharding::ModelCosts costs = problem.costs(1);
    sharding::CachedCostModel cost_model{problem.task(), costs};
    sharding::SearchOptions options;
    options.effort = 20'000;
    if (const auto plan = sharding::method_called("lockstep").search(cost_model, options)) {
      ++tasks;
      found += cost_model.estimate(*plan).total;
      least += costs.at_least(problem.task());
    }
  }
  void print() const {
    if (tasks > 0) {
      fmt::print("  under the fast models the tables' part takes {} in the mean, no plan less than {}\n",
                 found / tasks, least / tasks);
    }
  }
};

/// How well the fastest of the given plans was told.
struct Selection {
  int tasks = 0, exact = 0, within = 0;
  double regret = 0;

  void add(double chosen, double best) {
    ++tasks;
    exact += chosen <= best ? 1 : 0;
    within += chosen <= 1.02 * best ? 1 : 0;
    regret += chosen / best - 1;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("exact {:.0f} %, within 2 % {:.0f} %, regret {:.2f} %", 100.0 * exact / tasks,
                       100.0 * within / tasks, 100 * regret / tasks);
  }
};

/// A plan's step as five predictors have it, and as measured on the other machine; all over 30 steps, which
/// is what run_random_experiments.sh of Lin et al. (owensgroup/ml_perf_model) takes. Seconds.
struct GivenPlan {
  std::array<double, 5> predicted{INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};  ///< by kPredictors
  double measured = INFINITY;
};
constexpr std::array kPredictors{"by prediction", "by prediction, embedding kernels measured",
                                 "by prediction, embedding kernels and host measured",
                                 "told all but jitter and waits", "told all but the jitter"};

GivenPlan given_plan(const ShardingProblem& problem, const EmbeddingPlan& plan,
                     const std::array<double, 3>& fitted) {
  const auto kernels = [&](KernelEfficiency& reached) {
    reached.random_rows *= fitted[0];
    reached.scattered_update *= fitted[1];
    reached.row_latency = fitted[2] * reached.row_latency;
  };
  const auto seconds = [&](const OtherMachine& machine) {
    return step_on(machine, problem, plan) / Seconds{1};
  };
  const auto all_but_waits = [](KernelEfficiency& reached) {
    const Seconds waits = reached.row_latency;
    differ(reached);
    reached.row_latency = waits;
  };
  return {{seconds({.kernels = [](KernelEfficiency&) {}}), seconds({.kernels = kernels}),
           seconds({.kernels = kernels, .host_scale = 1.1}),
           seconds({.kernels = all_but_waits, .host_scale = 1.1}),
           seconds({.kernels = differ, .host_scale = 1.1})},
          seconds({.kernels = differ, .host_scale = 1.1, .jitter = true})};
}

constexpr std::array kSeven{"round_robin",       "chunks",        "random",
                            "size_greedy",       "lookup_greedy", "norm_lookup_greedy",
                            "size_lookup_greedy"};

class Comparison {
 public:
  /// @param fitted what measured kernels say of the machine's embedding constants, by calibrated()
  explicit Comparison(const std::array<double, 3>& fitted) : fitted_{fitted} {}

  /// @param selects the seven plans alone, without searches
  void add(const ShardingProblem& problem, bool selects) {
    std::map<std::string, double> steps;
    std::vector<GivenPlan> seven;
    std::vector<Candidate> candidates;
    for (const sharding::Method& method : sharding::methods()) {
      const bool is_given = std::ranges::find(kSeven, method.name) != kSeven.end();
      const bool is_small = problem.task().tables.size() <= 10;
      if (method.name == "lockstep" || (method.name == "exact" && !is_small) || (selects && !is_given)) {
        continue;
      }
      auto candidate = sharding_plan(method, problem);
      const auto step = candidate ? problem.step_time(candidate->plan) : std::nullopt;
      if (step) {
        steps[std::string{method.name}] = *step / Seconds{1e-3};
      }
      if (selects && is_given) {
        seven.push_back(step ? given_plan(problem, candidate->plan, fitted_) : GivenPlan{});
      }
      if (step && method.name != "random" && method.name != "exact") {
        candidate->step = step;
        candidates.push_back(*std::move(candidate));
      }
    }
    if (selects) {
      select(seven);
    } else {
      add_ours(problem, std::move(candidates), steps);
    }
    steps_.push_back(steps);
  }

  void print() const {
    double best_rule = 0, ours = 0, neuroshard = 0, ours_beside_neuroshard = 0, single = 0;
    int valid = 0;
    Gap exact;
    std::map<std::string, double> sums;
    std::map<std::string, int> counts;
    for (const auto& steps : steps_) {
      if (steps.size() != steps_.front().size() && !steps.contains("size_lookup_greedy")) {
        continue;
      }
      double least = INFINITY;
      for (const auto& [name, step] : steps) {
        sums[name] += step;
        ++counts[name];
        const bool is_rule =
            !name.starts_with("lockstep") && !name.starts_with("neuroshard") && name != "exact";
        if (is_rule) least = std::min(least, step);
      }
      if (!steps.contains("lockstep")) {
        continue;
      }
      ++valid;
      best_rule += least;
      ours += steps.at("lockstep");
      double others = least;
      if (steps.contains("neuroshard")) {
        neuroshard += steps.at("neuroshard");
        ours_beside_neuroshard += steps.at("lockstep");
        others = std::min(others, steps.at("neuroshard"));
      }
      single = std::max(single, steps.at("lockstep") / others);
      if (steps.contains("exact")) exact.add(steps.at("lockstep"), steps.at("exact"));
    }
    for (const auto& [name, sum] : sums) {
      fmt::print("  {:<24} {:>8.3f} ms in the mean of {}\n", name, sum / counts.at(name), counts.at(name));
    }
    if (ours > 0) {
      fmt::print(
          "  of {} tasks: best rule of each task {:+.1f} %, NeuroShard {:+.1f} % of lockstep's; worst task "
          "{:.3f}; search "
          "with simulations {:.2f} s a task, at most {:.2f}\n",
          valid, 100 * (best_rule / ours - 1), 100 * (neuroshard / ours_beside_neuroshard - 1), single,
          seconds_ / static_cast<double>(steps_.size()), slowest_);
      for (const auto& [kind, count] : winners_) {
        fmt::print("    best with {}: {}\n", kind, count);
      }
    }
    exact.print();
    bound_.print();
    if (ours > 0) {
      const double least = ours / valid - bound_.left() / Seconds{1e-3};
      fmt::print(
          "  a plan at that bound, the rest of its step as lockstep's: {:.3f} ms, best rules {:+.1f} %\n",
          least, 100 * (best_rule / valid / least - 1));
    }
    print_selection();
  }

 private:
  static std::optional<Candidate> sharding_plan(const sharding::Method& method,
                                                const ShardingProblem& problem) {
    return candidate_by(method, problem, {});
  }

  /// Adds our plan the way the search command makes it: the best of all plans, refined.
  void add_ours(const ShardingProblem& problem, std::vector<Candidate> candidates,
                std::map<std::string, double>& steps) {
    const auto start = std::chrono::steady_clock::now();
    sharding::SearchOptions options;
    options.effort = 20'000;
    StepSimulator simulator{problem};
    bound_.add(problem);
    for (Candidate& candidate : our_candidates(problem, options)) {
      candidate.step = simulator.step_time(candidate.plan);
      candidates.push_back(std::move(candidate));
    }
    if (const Candidate* const best = fastest(candidates)) {
      steps["lockstep, not refined"] = *best->step / Seconds{1e-3};
    }
    const std::vector<Candidate> refined = fastest_refined(problem, simulator, candidates, {});
    if (const Candidate* const best = fastest(refined)) {
      steps["lockstep"] = *best->step / Seconds{1e-3};
      ++winners_[kind_of(*best)];
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds_ += took;
    slowest_ = std::max(slowest_, took);
  }

  static const Candidate* fastest(const std::vector<Candidate>& candidates) {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.step && (best == nullptr || *candidate.step < *best->step)) {
        best = &candidate;
      }
    }
    return best;
  }

  /// `data-parallel` of `13 data-parallel`.
  static std::string kind_of(const Candidate& candidate) {
    const std::string& name = candidate.split.name;
    return name.empty() ? "tables one by one" : name.substr(name.find(' ') + 1);
  }

  void select(const std::vector<GivenPlan>& seven) {
    const double best = std::ranges::min_element(seven, {}, &GivenPlan::measured)->measured;
    if (std::isinf(best)) {
      return;
    }
    for (std::size_t predictor = 0; predictor < predicted_.size(); ++predictor) {
      const auto chosen = std::ranges::min_element(
          seven, {}, [&](const GivenPlan& plan) { return plan.predicted[predictor]; });
      predicted_[predictor].add(chosen->measured, best);
    }
    for (std::size_t i = 0; i < seven.size(); ++i) {
      constant_[i].add(std::min(seven[i].measured, 10 * best), best);
    }
  }

  void print_selection() const {
    if (predicted_.front().tasks == 0) {
      return;
    }
    fmt::print(
        "  the fastest of seven, {} tasks; measured kernels: random rows x {:.2f}, updates x {:.2f}, waits x "
        "{:.2f}\n",
        predicted_.front().tasks, fitted_[0], fitted_[1], fitted_[2]);
    for (std::size_t predictor = 0; predictor < predicted_.size(); ++predictor) {
      fmt::print("    {:<42} {}\n", kPredictors[predictor], predicted_[predictor].text());
    }
    const auto best = std::ranges::max_element(constant_, {}, &Selection::exact);
    fmt::print("    {:<42} {}\n",
               fmt::format("always {}", kSeven[static_cast<std::size_t>(best - constant_.begin())]),
               best->text());
  }

  std::vector<std::map<std::string, double>> steps_;
  std::array<double, 3> fitted_;
  std::array<Selection, kPredictors.size()> predicted_{};
  std::array<Selection, kSeven.size()> constant_{};
  double seconds_ = 0, slowest_ = 0;
  Bound bound_;
  std::map<std::string, int> winners_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 7) {
    fmt::print(stderr, "search_comparison TABLES.json CLUSTER GPUS TABLES WIDEST TASKS [heavy|any|ahead]\n");
    return 2;
  }
  try {
    const sharding::TableSet set = sharding::read_table_set(arguments[1]);
    DrawnModels drawing;
    drawing.cluster = arguments[2];
    drawing.gpus = std::atoi(arguments[3]);
    const std::string selection = count > 7 ? arguments[7] : "";
    drawing.indices_ahead = selection == "ahead";
    drawing.selection = !selection.empty() && !drawing.indices_ahead;
    drawing.heavy = selection == "heavy";
    drawing.tables = std::strtoul(arguments[4], nullptr, 10);
    drawing.widest = std::strtol(arguments[5], nullptr, 10);
    drawing.tasks = std::strtoul(arguments[6], nullptr, 10);
    drawing.batch = drawing.selection ? 4096 : 65536;
    const ConfigPath configs = ConfigPath::standard();
    std::array<double, 3> fitted{1, 1, 1};
    if (drawing.selection) {
      const ShardingProblem first{YamlDocument::from_text(scenario(set, drawing, 0), "drawn"), configs};
      fitted = calibrated(first.resolved().gpu_models.front(), calls_to_measure(set, drawing.batch, 75));
    }
    Comparison comparison{fitted};
    for (std::uint64_t task = 0; task < drawing.tasks; ++task) {
      const ShardingProblem problem{YamlDocument::from_text(scenario(set, drawing, task), "drawn"), configs};
      comparison.add(problem, drawing.selection);
    }
    fmt::print("{}, {} GPUs, {} tables, dimension at most {}\n", drawing.cluster, drawing.gpus,
               drawing.tables, drawing.widest);
    comparison.print();
  } catch (const InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
  return 0;
}
