#include "search/sharding/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/random.hpp"
#include "search/torchrec/estimator.hpp"

namespace lockstep::sharding {
namespace {

/// Each table whole to the device that @p choose picks by its number, of those that take tables.
template <class Choose>
std::optional<Plan> by_number(const Task& task, Choose choose) {
  const std::vector<std::uint32_t> places = task.places();
  if (places.empty()) {
    return std::nullopt;
  }
  Plan plan{whole_tables(task)};
  for (Piece& piece : plan.pieces) {
    piece.device = places[choose(piece.table, places.size())];
  }
  return is_valid(plan, task) ? std::optional{std::move(plan)} : std::nullopt;
}

/// A table, what a rule sorts by, and what it balances.
struct Candidate {
  double rank;
  double key;
  Bytes size;
  std::uint32_t table;

  [[nodiscard]] auto order() const { return std::tuple{rank, size, table}; }
};

/// The tables that a device has been given so far: the sum of their keys, and of their bytes.
struct Filling {
  double key = 0;
  Bytes used;
};

std::optional<std::uint32_t> least_filled(const std::vector<Filling>& devices, const Task& task, Bytes size) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    if (devices[device].used + size > task.capacity[device]) {
      continue;
    }
    const auto order = [&](std::uint32_t d) { return std::pair{devices[d].key, devices[d].used}; };
    if (!best || order(device) < order(*best)) {
      best = device;
    }
  }
  return best;
}

/// The largest first.
std::optional<Plan> give_out(const Task& task, std::vector<Candidate> order) {
  std::ranges::sort(order, [](const Candidate& a, const Candidate& b) { return a.order() > b.order(); });
  Plan plan{whole_tables(task)};
  std::vector<Filling> devices(task.devices());
  for (const Candidate& next : order) {
    const auto device = least_filled(devices, task, next.size);
    if (!device) {
      return std::nullopt;
    }
    plan.pieces[next.table].device = *device;
    devices[*device].key += next.key;
    devices[*device].used += next.size;
  }
  return plan;
}

template <class Key>
std::optional<Plan> greedy(const Task& task, Key key) {
  std::vector<Candidate> order;
  for (const Piece& piece : whole_tables(task)) {
    const double cost = key(task.tables[piece.table].shape);
    order.push_back({cost, cost, task.size_of(piece.table, piece.columns), piece.table});
  }
  return give_out(task, std::move(order));
}

double dimension(const EmbeddingTable& table) {
  return static_cast<double>(table.dimension);
}
double rows(const EmbeddingTable& table) {
  return static_cast<double>(table.rows);
}

}  // namespace

std::optional<Plan> random_plan(CachedCostModel& cost_model, const SearchOptions& options) {
  const Random random{options.seed, "random sharding"};
  return by_number(cost_model.task(), [&](std::uint32_t table, std::size_t places) {
    return static_cast<std::size_t>(random.uniform(table) * static_cast<double>(places));
  });
}

std::optional<Plan> round_robin(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return by_number(cost_model.task(), [](std::uint32_t table, std::size_t places) { return table % places; });
}

std::optional<Plan> chunks(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  const std::size_t tables = cost_model.task().tables.size();
  return by_number(cost_model.task(),
                   [&](std::uint32_t table, std::size_t places) { return table * places / tables; });
}

std::optional<Plan> size_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return greedy(cost_model.task(),
                [](const EmbeddingTable& table) { return rows(table) * dimension(table); });
}

std::optional<Plan> dim_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return greedy(cost_model.task(), dimension);
}

std::optional<Plan> lookup_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return greedy(cost_model.task(),
                [](const EmbeddingTable& table) { return dimension(table) * table.pooling_factor; });
}

std::optional<Plan> norm_lookup_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return greedy(cost_model.task(), [](const EmbeddingTable& table) {
    return dimension(table) * table.pooling_factor / rows(table);
  });
}

std::optional<Plan> size_lookup_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  return greedy(cost_model.task(), [](const EmbeddingTable& table) {
    return dimension(table) * table.pooling_factor * std::log10(rows(table));
  });
}

std::optional<Plan> torchrec_greedy(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  const Task& task = cost_model.task();
  torchrec::Topology topology;
  topology.ranks = static_cast<std::int64_t>(task.devices());
  topology.batch_per_rank = task.batch / topology.ranks;
  std::vector<Candidate> order;
  for (const Piece& piece : whole_tables(task)) {
    const EmbeddingTable& table = task.tables[piece.table].shape;
    const torchrec::TableConfig config{.rows = table.rows,
                                       .columns = table.dimension,
                                       .pooling_factor = table.pooling_factor,
                                       .is_weighted = false};
    const torchrec::Perf perf =
        torchrec::perf_of(config, {table.rows, table.dimension}, torchrec::Sharding::TableWise,
                          torchrec::Kernel::Fused, topology);
    const Bytes size = task.size_of(piece.table, piece.columns);
    order.push_back({size / Bytes{1}, perf.total() / Seconds{1}, size, piece.table});
  }
  return give_out(task, std::move(order));
}

}  // namespace lockstep::sharding
