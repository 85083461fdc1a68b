// Searches on drawn DLRMs, all plans simulated: the mean step of every method, Lockstep's among them, and how
// often the fastest of seven given plans is told on a machine whose kernels differ from the models.
//
//   search_comparison TABLES.json CLUSTER GPUS TABLES WIDEST TASKS [heavy]        e.g. "dgx1v x 1" 4 40 128
//   10

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "app/search/refinement.hpp"
#include "bench/drawn_models.hpp"

namespace {

using namespace lockstep;

/// The machine as it is and the models are not: slower random rows, faster updates, longer waits, 10 % more
/// host time, jitter.
Seconds measured(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  Setting setting = problem.under(plan);
  for (GpuSpec& gpu : setting.gpu_models) {
    KernelEfficiency& reached = gpu.efficiency.value;
    reached.random_rows *= 0.85;
    reached.scattered_update *= 1.15;
    reached.memory *= 0.95;
    reached.row_latency = 1.3 * reached.row_latency;
    gpu.learned.reset();
  }
  setting.host_scale = 1.1;
  setting.scenario.vary.kernels = JitterSpec::parse("lognormal 0.02");
  return predict(setting, nullptr, EngineMode::Bare).mean_step();
}

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

constexpr std::array kSeven{"round_robin",       "chunks",        "random",
                            "size_greedy",       "lookup_greedy", "norm_lookup_greedy",
                            "size_lookup_greedy"};

class Comparison {
 public:
  /// @param selects the seven plans alone, without searches
  void add(const ShardingProblem& problem, bool selects) {
    std::map<std::string, double> steps;
    std::vector<std::array<double, 2>> seven;  // predicted, measured
    std::optional<Candidate> best;
    for (const sharding::Method& method : sharding::methods()) {
      const bool is_given = std::ranges::find(kSeven, method.name) != kSeven.end();
      if (method.name == "lockstep" || method.name == "exact" || (selects && !is_given)) {
        continue;
      }
      auto candidate = sharding_plan(method, problem);
      const auto step = candidate ? problem.step_time(candidate->plan) : std::nullopt;
      if (step) {
        steps[std::string{method.name}] = *step / Seconds{1e-3};
      }
      if (step && is_given) {
        seven.push_back({*step / Seconds{1}, measured(problem, candidate->plan) / Seconds{1}});
      } else if (is_given) {
        seven.push_back({INFINITY, INFINITY});
      }
      if (step && method.name != "random") {
        candidate->step = step;
        keep_better(*std::move(candidate), best);
      }
    }
    if (!selects) {
      add_ours(problem, std::move(best), steps);
    }
    steps_.push_back(steps);
    select(seven);
  }

  void print() const {
    double best_rule = 0, ours = 0, neuroshard = 0, single = 0;
    int valid = 0;
    std::map<std::string, double> sums;
    std::map<std::string, int> counts;
    for (const auto& steps : steps_) {
      if (steps.size() != steps_.front().size() && !steps.contains("size_lookup_greedy")) {
        continue;
      }
      ++valid;
      double least = INFINITY;
      for (const auto& [name, step] : steps) {
        sums[name] += step;
        ++counts[name];
        if (name.find("lockstep") != 0 && name.find("neuroshard") != 0) least = std::min(least, step);
      }
      best_rule += least;
      if (!steps.contains("lockstep") || !steps.contains("neuroshard")) {
        continue;
      }
      ours += steps.at("lockstep");
      neuroshard += steps.at("neuroshard");
      single = std::max(single, steps.at("lockstep") / std::min(least, steps.at("neuroshard")));
    }
    for (const auto& [name, sum] : sums) {
      fmt::print("  {:<24} {:>8.3f} ms in the mean of {}\n", name, sum / counts.at(name), counts.at(name));
    }
    if (ours > 0) {
      fmt::print(
          "  of {} tasks: best rule of each task {:+.1f} %, NeuroShard {:+.1f} % of lockstep's; worst task "
          "{:.3f}; search "
          "with simulations {:.2f} s a task, at most {:.2f}\n",
          valid, 100 * (best_rule / ours - 1), 100 * (neuroshard / ours - 1), single,
          seconds_ / static_cast<double>(steps_.size()), slowest_);
      for (const auto& [kind, count] : winners_) {
        fmt::print("    refined from {}: {}\n", kind, count);
      }
    }
    fmt::print("  the fastest of seven: by prediction {}\n", predicted_.text());
    const auto best = std::ranges::max_element(constant_, {}, &Selection::exact);
    fmt::print("                        always {}: {}\n",
               kSeven[static_cast<std::size_t>(best - constant_.begin())], best->text());
  }

 private:
  static std::optional<Candidate> sharding_plan(const sharding::Method& method,
                                                const ShardingProblem& problem) {
    return candidate_by(method, problem, {});
  }

  /// As the search command does it: the best of all plans, refined.
  void add_ours(const ShardingProblem& problem, std::optional<Candidate> best,
                std::map<std::string, double>& steps) {
    const auto start = std::chrono::steady_clock::now();
    sharding::SearchOptions options;
    options.effort = 20'000;
    StepSimulator simulator{problem};
    for (Candidate& candidate : our_candidates(problem, options)) {
      candidate.step = simulator.step_time(candidate.plan);
      keep_better(std::move(candidate), best);
    }
    if (best) {
      steps["lockstep, not refined"] = *best->step / Seconds{1e-3};
      ++winners_[kind_of(*best)];
      steps["lockstep"] = *refined(problem, simulator, *best, {}).step / Seconds{1e-3};
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    seconds_ += took;
    slowest_ = std::max(slowest_, took);
  }

  static void keep_better(Candidate candidate, std::optional<Candidate>& best) {
    if (candidate.step && (!best || *candidate.step < *best->step)) {
      best = std::move(candidate);
    }
  }

  /// `data-parallel` of `13 data-parallel`; the method of a plan that spreads nothing.
  static std::string kind_of(const Candidate& candidate) {
    const std::string& name = candidate.division.name;
    return name.empty() ? candidate.name : name.substr(name.find(' ') + 1);
  }

  void select(const std::vector<std::array<double, 2>>& seven) {
    double best = INFINITY;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < seven.size(); ++i) {
      best = std::min(best, seven[i][1]);
      chosen = seven[i][0] < seven[chosen][0] ? i : chosen;
    }
    if (std::isinf(best)) {
      return;
    }
    predicted_.add(seven[chosen][1], best);
    for (std::size_t i = 0; i < seven.size(); ++i) {
      constant_[i].add(std::min(seven[i][1], 10 * best), best);
    }
  }

  std::vector<std::map<std::string, double>> steps_;
  Selection predicted_;
  std::array<Selection, kSeven.size()> constant_{};
  double seconds_ = 0, slowest_ = 0;
  std::map<std::string, int> winners_;  // before refinement
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 7) {
    fmt::print(stderr, "search_comparison TABLES.json CLUSTER GPUS TABLES WIDEST TASKS [heavy]\n");
    return 2;
  }
  try {
    const sharding::TableSet set = sharding::read_table_set(arguments[1]);
    DrawnModels drawing;
    drawing.cluster = arguments[2];
    drawing.gpus = std::atoi(arguments[3]);
    drawing.heavy = count > 7;
    drawing.tables = std::strtoul(arguments[4], nullptr, 10);
    drawing.widest = std::strtol(arguments[5], nullptr, 10);
    drawing.tasks = std::strtoul(arguments[6], nullptr, 10);
    drawing.batch = drawing.heavy ? 4096 : 65536;
    Comparison comparison;
    const ConfigPath configs = ConfigPath::standard();
    for (std::uint64_t task = 0; task < drawing.tasks; ++task) {
      const ShardingProblem problem{YamlDocument::from_text(scenario(set, drawing, task), "drawn"), configs};
      comparison.add(problem, drawing.heavy);
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
