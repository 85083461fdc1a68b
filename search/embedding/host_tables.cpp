#include "search/embedding/host_tables.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "ops/kernels/host_traffic.hpp"
#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

/// What a node's host has, and how many ranks share it.
struct Host {
  Bytes room;
  double ranks = 0;
};

std::vector<Host> hosts_of(const ShardingProblem& problem) {
  const Fabric& fabric = problem.resolved().fabric;
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

double heat(const ShardingProblem& problem, std::int64_t table, const TableShardingSpec& how) {
  const sharding::Task& task = problem.task();
  const EmbeddingTable shape = located(task.tables[static_cast<std::size_t>(table)].shape, how);
  HostTraffic moved;
  if (shape.location == TableLocation::HostCached) {
    moved += host_traffic({"", DataType::FP32, EmbeddingCacheInsert{.batch = task.batch, .tables = {shape}}});
  }
  for (const Direction direction : {Direction::Forward, Direction::Backward}) {
    moved += host_traffic(
        {"", DataType::FP32, EmbeddingBags{.batch = task.batch, .tables = {shape}, .direction = direction}});
  }
  const ShardStorage storage = problem.storage();
  const Bytes whole = task.size_of(static_cast<std::size_t>(table), shape.dimension);
  const Bytes freed = whole - on_gpu(shape, storage.sharded);
  return freed > Bytes{0} ? std::max(moved.to_device, moved.to_host) / freed
                          : std::numeric_limits<double>::infinity();
}

std::vector<std::int64_t> coldest_first(const ShardingProblem& problem, const TableShardingSpec& how) {
  std::vector<std::int64_t> order = largest_first(problem.task());
  std::vector<double> heats(order.size());
  for (const std::int64_t table : order) {
    heats[static_cast<std::size_t>(table)] = heat(problem, table, how);
  }
  std::ranges::stable_sort(order, {},
                           [&](std::int64_t table) { return heats[static_cast<std::size_t>(table)]; });
  return order;
}

std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem) {
  return tables_for_hosts(problem, largest_first(problem.task()));
}

std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem,
                                           const std::vector<std::int64_t>& order) {
  if (!problem.resolved().scenario.memory.check_capacity) {
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
