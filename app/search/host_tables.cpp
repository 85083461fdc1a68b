#include "app/search/host_tables.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

/// What a node's host has, and how many ranks share it.
struct Host {
  Bytes room;
  double ranks = 0;
};

std::vector<Host> hosts_of(const ShardingProblem& problem) {
  const Fabric& fabric = problem.setting().fabric;
  std::vector<Host> hosts;
  for (const std::vector<std::uint32_t>& ranks : problem.ranks_of_node()) {
    const int node = fabric.vertices()[fabric.gpus()[ranks.front()]].node;
    hosts.push_back({host_memory_of_node(fabric, node).size, static_cast<double>(ranks.size())});
  }
  return hosts;
}

/// The weights of the most rows of @p table that a rank has.
Bytes size_of_part(const ShardingProblem& problem, std::int64_t table) {
  const sharding::Task& task = problem.task();
  const EmbeddingTable& shape = task.tables[static_cast<std::size_t>(table)].shape;
  const auto ranks = static_cast<std::int64_t>(task.devices());
  const std::int64_t rows = (shape.rows + ranks - 1) / ranks;
  return static_cast<double>(rows) * static_cast<double>(shape.dimension) * task.storage().weight;
}

}  // namespace

std::vector<std::int64_t> largest_first(const sharding::Task& task) {
  std::vector<std::int64_t> order(task.tables.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::int64_t table) {
    const auto number = static_cast<std::size_t>(table);
    return task.size_of(number, task.tables[number].shape.dimension);
  });
  return order;
}

Bytes host_memory(const ShardingProblem& problem) {
  Bytes all;
  for (const Host& host : hosts_of(problem)) {
    all += host.room;
  }
  return all;
}

Bytes size_in_host_memory(const ShardingProblem& problem, std::int64_t table) {
  return static_cast<double>(problem.task().devices()) * size_of_part(problem, table);
}

std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem) {
  const std::vector<std::int64_t> order = largest_first(problem.task());
  if (!problem.setting().scenario.memory.check_capacity) {
    return order;
  }
  std::vector<Host> hosts = hosts_of(problem);
  std::vector<std::int64_t> tables;
  for (const std::int64_t table : order) {
    const Bytes part = size_of_part(problem, table);
    if (std::ranges::all_of(hosts, [&](const Host& host) { return host.ranks * part <= host.room; })) {
      tables.push_back(table);
      for (Host& host : hosts) {
        host.room -= host.ranks * part;
      }
    }
  }
  return tables;
}

}  // namespace lockstep
