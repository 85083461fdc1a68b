// Policies that were trained on 50 tasks of 20 to 50 tables and 4 GPUs, used as they are for other numbers of
// tables and GPUs, on tables that training has not seen: the mean step, under the fast models and simulated.
//
//   policy_transfer TABLES.json NODE WIDEST TASKS [SEED]        e.g. dgx_a100 128 20; SEED is the training's

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "search/embedding/sharding_problem.hpp"
#include "search/learned/training.hpp"
#include "search/sharding/method.hpp"
#include "search/sharding/table_file.hpp"

namespace {

using namespace lockstep;
using Policy = std::shared_ptr<const sharding::learned::PlacementPolicy>;

constexpr std::size_t kTrainingTasks = 50;

struct Draw {
  std::string node;
  std::int64_t widest = 128;
  std::vector<EmbeddingTable> tables;  ///< to draw from
};

std::string cluster_of(const std::string& node, std::size_t gpus) {
  return fmt::format("{} x {}", node, (gpus + 7) / 8);
}

/// A DLRM of @p count tables, drawn without replacement, each of a width of its own.
ShardingProblem drawn_problem(const Draw& drawing, std::size_t gpus, std::size_t count, Random random) {
  int halvings = 0;
  while (drawing.widest >> halvings >= 4) {
    ++halvings;
  }
  std::vector<EmbeddingTable> left = drawing.tables;
  std::vector<std::string> tables;
  for (std::uint64_t i = 0; i < std::min(count, left.size()); ++i) {
    std::swap(left[i], left[i + random.bits(2 * i) % (left.size() - i)]);
    const auto width = drawing.widest >> static_cast<int>(random.uniform(2 * i + 1) * halvings);
    tables.push_back(
        fmt::format("{{rows: [{}], dimension: {}, pooling_factor: {}, index_skew: {}, active_rows: {}}}",
                    left[i].rows, width, left[i].pooling_factor, left[i].index_skew, left[i].active_rows));
  }
  const std::string text = fmt::format(
      "name: drawn\ncluster: {}\nworkload:\n  global_batch: 65536\n  model:\n    name: drawn\n    source: "
      "drawn\n    dlrm:\n      bottom_mlp: [13, 512, 256, 64]\n      top_mlp: [512, 256, 1]\n      "
      "interaction: cat\n      tables: [{}]\nparallelism: {{ranks: {}}}\n",
      cluster_of(drawing.node, gpus), fmt::join(tables, ", "), gpus);
  return {YamlDocument::from_text(text, "drawn"), ConfigPath::standard()};
}

/// Halves of the set's tables, the empty ones left out.
std::vector<std::vector<EmbeddingTable>> halves(const sharding::TableSet& set) {
  const Random random{1, "halves of the tables"};
  std::vector<std::vector<EmbeddingTable>> both(2);
  for (std::size_t i = 0; i < set.tables.size(); ++i) {
    if (set.tables[i].shape.pooling_factor > 0) {
      both[random.bits(i) % 2].push_back(set.tables[i].shape);
    }
  }
  return both;
}

template <class Train>
Policy trained(const char* name, const Draw& drawing, std::uint64_t seed, Train train) {
  const Random random{1, "training tasks"};
  std::vector<sharding::Task> tasks;
  std::unique_ptr<ShardingProblem> first;
  for (std::uint64_t i = 0; i < kTrainingTasks; ++i) {
    const std::size_t count = 20 + random.bits(i) % 31;
    auto problem = std::make_unique<ShardingProblem>(drawn_problem(drawing, 4, count, random.of(i)));
    tasks.push_back(problem->task());
    first = first ? std::move(first) : std::move(problem);
  }
  const sharding::ModelCosts costs = first->costs(1);
  sharding::learned::TrainingOptions options;
  options.seed = seed;
  const auto start = std::chrono::steady_clock::now();
  Policy policy = train(tasks, costs, options);
  fmt::print("{} trained in {:.1f} s\n", name,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return policy;
}

/// Milliseconds of a plan; infinite where there is none.
struct Cost {
  double model = INFINITY, simulated = INFINITY;
};

Cost cost_of(const sharding::Method& method, const ShardingProblem& problem, const Policy& policy) {
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  sharding::SearchOptions options;
  options.effort = 20'000;
  options.policy = policy;
  const auto plan = method.search(judge, options);
  if (!plan) {
    return {};
  }
  std::vector<std::int64_t> all(problem.task().tables.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::int64_t>(i);
  }
  const auto step = problem.step_time(sharding::embedding_plan_of(*plan, all, {}));
  return {judge.estimate(*plan).total / Seconds{1e-3}, step ? *step / Seconds{1e-3} : INFINITY};
}

void keep_best(Cost& best, const Cost& other) {
  best.model = std::min(best.model, other.model);
  best.simulated = std::min(best.simulated, other.simulated);
}

/// Costs of one task, by column of the table.
std::map<std::string, Cost> costs_of(const ShardingProblem& problem, const std::vector<Policy>& policies) {
  std::map<std::string, Cost> costs;
  for (const sharding::Method& method : sharding::methods()) {
    const std::string name{method.name};
    if (name.ends_with("_greedy") || name == "torchrec") {
      keep_best(costs["best rule"], cost_of(method, problem, nullptr));
    } else if (name == "random" || name == "neuroshard" || name == "lockstep") {
      costs[name] = cost_of(method, problem, nullptr);
    }
  }
  for (const Policy& policy : policies) {
    const sharding::Method& method = sharding::method_called(policy->method());
    costs[std::string{method.name}] = cost_of(method, problem, policy);
  }
  return costs;
}

const std::vector<std::string> kColumns{"random",     "best rule",  "autoshard",
                                        "dreamshard", "neuroshard", "lockstep"};

/// Means over the tasks for which every column but `random` has a plan.
void print_row(std::size_t gpus, std::size_t tables, const std::vector<std::map<std::string, Cost>>& tasks) {
  for (const auto& [kind, of] :
       {std::pair{"model", &Cost::model}, std::pair{"simulated", &Cost::simulated}}) {
    std::string text;
    int common = 0;
    for (const std::string& column : kColumns) {
      double sum = 0;
      int all = 0, plans = 0;
      for (const auto& costs : tasks) {
        const bool counts = std::ranges::all_of(kColumns, [&](const std::string& other) {
          return other == "random" || std::isfinite(costs.at(other).*of);
        });
        const double cost = costs.at(column).*of;
        plans += std::isfinite(cost) ? 1 : 0;
        if (counts && std::isfinite(cost)) {
          sum += cost;
          ++all;
        }
      }
      common = column == "random" ? 0 : all;
      text += fmt::format("{:>9.2f} ({:>2})", all > 0 ? sum / all : NAN, plans);
    }
    fmt::print("{:>3} GPUs {:>3} tables {:<9} {}  mean of {}\n", gpus, tables, kind, text, common);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    fmt::print(stderr, "policy_transfer TABLES.json NODE WIDEST TASKS [SEED]\n");
    return 2;
  }
  try {
    const auto both = halves(sharding::read_table_set(arguments[1]));
    Draw training{arguments[2], std::strtol(arguments[3], nullptr, 10), both[0]};
    const Draw testing{training.node, training.widest, both[1]};
    const std::size_t tasks = std::strtoul(arguments[4], nullptr, 10);
    const std::uint64_t seed = count > 5 ? std::strtoul(arguments[5], nullptr, 10) : 1;
    const std::vector<Policy> policies{
        trained("AutoShard", training, seed, sharding::learned::train_autoshard),
        trained("DreamShard", training, seed, sharding::learned::train_dreamshard)};
    fmt::print("{}, dimension at most {}; ms (plans that fit):\n{:<31}", training.node, training.widest, "");
    for (const std::string& column : kColumns) {
      fmt::print("{:>14}", column);
    }
    fmt::print("\n");
    const std::vector<std::pair<std::size_t, std::size_t>> settings{{4, 20}, {4, 50},  {4, 80},  {8, 40},
                                                                    {8, 80}, {8, 160}, {16, 200}};
    for (const auto& [gpus, tables] : settings) {
      std::vector<std::map<std::string, Cost>> all;
      for (std::uint64_t task = 0; task < tasks; ++task) {
        const Random random = Random{1, "test tasks"}.of(1000 * gpus + tables).of(task);
        all.push_back(costs_of(drawn_problem(testing, gpus, tables, random), policies));
      }
      print_row(gpus, tables, all);
    }
  } catch (const InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
  return 0;
}
