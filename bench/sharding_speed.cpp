// Sharding methods under NeuroShard's published networks: mean cost, plans that fit, seconds a task.
// AutoShard and DreamShard are trained for each width on 50 tasks of another seed.
//
//   sharding_speed NETWORKS TABLES TASKS SEED WIDEST...

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "search/learned/training.hpp"
#include "search/sharding/drawn_tasks.hpp"
#include "search/sharding/method.hpp"
#include "search/sharding/network_costs.hpp"

namespace {

using namespace lockstep::sharding;

/// Results of one method on all tasks.
struct Record {
  std::vector<double> milliseconds;  ///< by task; below 0: no plan
  double seconds = 0, slowest = 0;   ///< of searching
};

Record record_of(const Method& method, const std::vector<Task>& tasks, const NetworkCosts& costs,
                 const SearchOptions& options = {}) {
  Record record;
  for (const Task& task : tasks) {
    CachedCostModel cost_model{task, costs};
    const auto start = std::chrono::steady_clock::now();
    const auto plan = method.search(cost_model, options);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    record.seconds += took;
    record.slowest = std::max(record.slowest, took);
    record.milliseconds.push_back(plan ? cost_model.estimate(*plan).total / lockstep::Seconds{1e-3} : -1);
  }
  return record;
}

/// Tasks for which the greedy rules of the published comparison have plans.
std::vector<bool> common_tasks(const std::vector<Record>& records, std::size_t tasks) {
  std::vector<bool> common(tasks, true);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto name = methods()[i].name;
    const bool counts = name.ends_with("_greedy") && name != "norm_lookup_greedy";
    for (std::size_t task = 0; task < tasks; ++task) {
      common[task] = common[task] && (!counts || records[i].milliseconds[task] >= 0);
    }
  }
  return common;
}

void print(std::string_view name, const Record& record, const std::vector<bool>& common) {
  int valid = 0, both = 0;
  double sum = 0;
  for (std::size_t task = 0; task < common.size(); ++task) {
    const bool has_plan = record.milliseconds[task] >= 0;
    valid += has_plan ? 1 : 0;
    both += has_plan && common[task] ? 1 : 0;
    sum += has_plan && common[task] ? record.milliseconds[task] : 0;
  }
  fmt::print("  {:<24} valid {:>4}   mean of {:>4} {:>8.3f} ms   {:.3f} s a task, at most {:.3f}\n", name,
             valid, both, sum / std::max(both, 1), record.seconds / static_cast<double>(common.size()),
             record.slowest);
}

void compare(const NetworkCosts& costs, const TableSet& set, const TaskProtocol& protocol) {
  const std::vector<Task> tasks = drawn_tasks(set, protocol);
  std::vector<Record> records;
  for (const Method& method : methods()) {
    records.push_back(method.name == "exact" ? Record{std::vector<double>(tasks.size(), -1)}
                                             : record_of(method, tasks, costs));
  }
  const std::vector<bool> common = common_tasks(records, tasks.size());
  fmt::print("dimension at most {}, {} tasks\n", protocol.widest, tasks.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    print(methods()[i].name, records[i], common);
  }
  TaskProtocol others = protocol;
  others.tasks = 50;
  others.seed += 1'000'000;
  const std::vector<Task> lessons = drawn_tasks(set, others);
  for (const Method& method : learned_methods()) {
    SearchOptions options;
    options.policy = method.name == "autoshard" ? learned::train_autoshard(lessons, costs, {})
                                                : learned::train_dreamshard(lessons, costs, {});
    print(method.name, record_of(method, tasks, costs, options), common);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr, "sharding_speed NETWORKS TABLES TASKS SEED WIDEST...\n");
    return 2;
  }
  try {
    const auto costs = NetworkCosts::from_file(arguments[1]);
    const TableSet set = read_table_set(arguments[2]);
    TaskProtocol protocol;
    protocol.redraws_count = true;
    protocol.tasks = std::strtoul(arguments[3], nullptr, 10);
    protocol.seed = static_cast<std::uint32_t>(std::strtoul(arguments[4], nullptr, 10));
    for (int i = 5; i < count; ++i) {
      protocol.widest = std::strtol(arguments[i], nullptr, 10);
      compare(costs, set, protocol);
    }
  } catch (const lockstep::InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
  return 0;
}
