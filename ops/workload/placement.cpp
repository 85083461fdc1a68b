#include "ops/workload/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace lockstep {
namespace {

double cost_of(const EmbeddingTable& table, EmbeddingPlanner planner) {
  const auto rows = static_cast<double>(table.rows);
  const auto dimension = static_cast<double>(table.dimension);
  switch (planner) {
    case EmbeddingPlanner::RoundRobin:
      return 0;
    case EmbeddingPlanner::SizeGreedy:
    case EmbeddingPlanner::SizeBuckets:
      return rows * dimension;
    case EmbeddingPlanner::DimGreedy:
      return dimension;
    case EmbeddingPlanner::LookupGreedy:
      return dimension * table.pooling_factor;
    case EmbeddingPlanner::SizeLookupGreedy:
      return dimension * table.pooling_factor * std::log10(rows);
  }
  return 0;
}

struct Load {
  double cost = 0;
  Bytes used;
  std::size_t tables = 0;
};

[[noreturn]] void reject(std::size_t table, const EmbeddingTable& shape, Bytes size,
                         std::span<const Bytes> capacity, const std::vector<Load>& loads,
                         EmbeddingPlanner planner) {
  const std::string where =
      planner == EmbeddingPlanner::RoundRobin
          ? fmt::format("does not fit on GPU {}, to which round_robin gives it", table % loads.size())
          : "fits on no GPU";
  std::string left;
  for (std::size_t gpu = 0; gpu < loads.size() && gpu < 16; ++gpu) {
    left += fmt::format("{}GPU {}: {} of {}", gpu == 0 ? "" : ", ", gpu, capacity[gpu] - loads[gpu].used,
                        capacity[gpu]);
  }
  throw std::invalid_argument{
      fmt::format("embedding table {} ({} rows of {} elements, {}) {}; memory left for tables: {}{}", table,
                  shape.rows, shape.dimension, size, where, left, loads.size() > 16 ? ", ..." : "")};
}

std::optional<std::size_t> least_loaded(const std::vector<Load>& loads, std::span<const Bytes> capacity,
                                        Bytes size, std::size_t most_tables) {
  std::optional<std::size_t> best;
  for (std::size_t gpu = 0; gpu < loads.size(); ++gpu) {
    if (loads[gpu].used + size > capacity[gpu] || loads[gpu].tables >= most_tables) {
      continue;
    }
    const auto key = [&](std::size_t g) { return std::pair{loads[g].cost, loads[g].used}; };
    if (!best || key(gpu) < key(*best)) {
      best = gpu;
    }
  }
  return best;
}

}  // namespace

TablePlacement place_tables(std::span<const EmbeddingTable> tables, std::span<const Bytes> capacity,
                            EmbeddingPlanner planner, const TableStorage& storage) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cost_of(tables[a], planner) > cost_of(tables[b], planner);
  });
  const std::size_t most_tables = planner == EmbeddingPlanner::SizeBuckets
                                      ? (tables.size() + capacity.size() - 1) / capacity.size()
                                      : tables.size();
  std::vector<Load> loads(capacity.size());
  TablePlacement placement(capacity.size());
  for (const std::size_t table : order) {
    const EmbeddingTable& shape = tables[table];
    const Bytes size = storage.of(static_cast<double>(shape.rows), static_cast<double>(shape.dimension));
    std::optional<std::size_t> gpu;
    if (planner == EmbeddingPlanner::RoundRobin) {
      gpu = table % capacity.size();
      if (loads[*gpu].used + size > capacity[*gpu]) {
        gpu.reset();
      }
    } else {
      gpu = least_loaded(loads, capacity, size, most_tables);
    }
    if (!gpu) {
      reject(table, shape, size, capacity, loads, planner);
    }
    loads[*gpu].cost += cost_of(shape, planner);
    loads[*gpu].used += size;
    ++loads[*gpu].tables;
    placement[*gpu].push_back(table);
  }
  for (auto& mine : placement) {
    std::sort(mine.begin(), mine.end());
  }
  return placement;
}

}  // namespace lockstep
