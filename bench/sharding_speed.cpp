// The sharding methods against each other under NeuroShard's published networks: mean cost, plans that fit, seconds a
// task.  sharding_speed NETWORKS TABLES [TASKS] [SEED] [WIDEST...]
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "search/sharding/drawn_tasks.hpp"
#include "search/sharding/method.hpp"
#include "search/sharding/network_costs.hpp"

namespace {
using namespace lockstep::sharding;
void compare(const NetworkCosts& costs, const TableSet& set, const TaskProtocol& protocol,std::int64_t effort) {
  const std::vector<Task> tasks = drawn_tasks(set, protocol);
  std::vector<std::vector<double>> cost(methods().size());
  std::vector<double> seconds(methods().size());
  std::vector<double> worst(methods().size());
  for (const Task& task : tasks) {
    for (std::size_t m = 0; m < methods().size(); ++m) {
      Judge judge{task, costs};
      const auto start = std::chrono::steady_clock::now();
      SearchOptions o; o.effort=effort;
      const auto plan = methods()[m].search(judge, o);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      seconds[m] += took;
      worst[m] = std::max(worst[m], took);
      cost[m].push_back(plan ? judge.estimate(*plan).total / lockstep::Seconds{1e-3} : -1);
    }
  }
  fmt::print("max dim {}, {} tasks\n", protocol.widest, tasks.size());
  for (std::size_t m = 0; m < methods().size(); ++m) {
    double all = 0, common = 0;
    int valid = 0, both = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      bool shared = true;
      for (std::size_t g = 3; g < methods().size(); ++g) shared = shared && (cost[g][t] >= 0 || g==9 || methods()[g].name=="norm_lookup_greedy");
      if (cost[m][t] < 0) continue;
      ++valid;
      all += cost[m][t];
      if (shared) { ++both; common += cost[m][t]; }
    }
    fmt::print("  {:<24} valid {:>4}  mean {:.3f} ms  common {} {:.3f}  {:.3f} s, at most {:.3f}\n", methods()[m].name, valid,
               all / std::max(valid,1), both, common / std::max(1,both), seconds[m] / tasks.size(), worst[m]);
  }
}
}
int main(int count, char** arguments) {
  const auto costs = NetworkCosts::from_file(arguments[1]);
  const auto set = read_table_set(arguments[2]);
  TaskProtocol protocol;
  protocol.tasks = std::strtoul(arguments[3], nullptr, 10);
  protocol.redraws_count=true;protocol.seed = std::strtoul(arguments[4], nullptr, 10);
  std::int64_t effort = std::atol(arguments[5]);
  for (int i = 6; i < count; ++i) {
    protocol.widest = std::atoi(arguments[i]);
    compare(costs, set, protocol,effort);
  }
}
