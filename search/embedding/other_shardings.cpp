#include "search/embedding/other_shardings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "search/embedding/cache_sizes.hpp"
#include "search/embedding/device_loads.hpp"
#include "search/embedding/host_tables.hpp"
#include "search/embedding/movable_pieces.hpp"
#include "search/embedding/rows_of_nodes.hpp"

namespace lockstep {
namespace {

using sharding::WholeTables;

bool is_in_host_memory(const TableShardingSpec& entry) {
  return entry.kernel != TableKernel::Fused;
}

/// Without @p table, and without entries that were for it alone.
EmbeddingPlan without(EmbeddingPlan plan, std::int64_t table) {
  for (TableShardingSpec& entry : plan.tables) {
    std::erase(entry.tables, table);
  }
  std::erase_if(plan.tables, [](const TableShardingSpec& entry) { return entry.tables.empty(); });
  return plan;
}

/// @p a as @p b is, and the other way round.
EmbeddingPlan exchanged(EmbeddingPlan plan, std::int64_t a, std::int64_t b) {
  for (TableShardingSpec& entry : plan.tables) {
    for (std::int64_t& table : entry.tables) {
      table = table == a ? b : table == b ? a : table;
    }
  }
  return plan;
}

TableShardingSpec on_all(TableSharding sharding) {
  TableShardingSpec entry;
  entry.sharding = sharding;
  return entry;
}

/// Whole tables beside cut ones.
TableShardingSpec by_itself(TableShardingSpec entry) {
  entry.sharding = TableSharding::TableWise;
  return entry;
}

/// What becomes of the entry's tables; "" on single GPUs.
std::string kind_of(const TableShardingSpec& entry, const EmbeddingPlan& plan) {
  if (is_in_host_memory(entry)) {
    return has_cache(entry) ? cached_in_host_memory(plan) : in_host_memory(entry);
  }
  if (!entry.ranks.empty()) {
    return "";
  }
  std::string kind{name_of(entry.sharding)};
  std::ranges::replace(kind, '_', '-');
  return kind;
}

/// `lockstep, 1 cached in host memory, 10 data-parallel, refined further`
std::string name_of_further(const EmbeddingPlan& plan) {
  std::map<std::string, std::size_t> counts;
  for (const TableShardingSpec& entry : plan.tables) {
    counts[kind_of(entry, plan)] += entry.tables.size();
  }
  std::string name = "lockstep";
  for (const auto& [kind, count] : counts) {
    name += kind.empty() ? "" : fmt::format(", {} {}", count, kind);
  }
  return name + ", refined further";
}

class OtherShardings {
 public:
  OtherShardings(const ShardingProblem& problem, StepSimulator& simulator, const Candidate& start,
                 const RefinementOptions& options)
      : problem_{problem},
        simulator_{simulator},
        options_{options},
        left_{options.simulations / 4},
        best_{start} {}

  Candidate run() {
    attempt_whole_in_host_memory();
    if (has_cache(best_.plan)) {
      attempt(best_.plan);  // with full caches
    }
    for (const std::int64_t table : drawn_order()) {
      if (is_over()) {
        break;
      }
      for (const TableShardingSpec& other : others_of(table)) {
        EmbeddingPlan plan = without(best_.plan, table);
        plan.tables.push_back(other);
        plan.tables.back().tables = {table};
        attempt(std::move(plan));
      }
      for (const std::int64_t other : colder_on_gpus(table)) {
        attempt(exchanged(best_.plan, table, other));
      }
      attempt_other_shares_of_caches(table);
    }
    attempt_whole_tables_elsewhere();
    return std::move(best_);
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> drawn_order() const {
    const Random random{options_.seed, "other shardings"};
    std::vector<std::int64_t> order(problem_.task().tables.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::int64_t table) { return random.bits(static_cast<std::uint64_t>(table)); });
    return order;
  }

  [[nodiscard]] const TableShardingSpec& entry_of(std::int64_t table) const {
    return *std::ranges::find_if(best_.plan.tables, [&](const TableShardingSpec& entry) {
      return std::ranges::find(entry.tables, table) != entry.tables.end();
    });
  }

  [[nodiscard]] Bytes size_of(std::int64_t table) const {
    const auto number = static_cast<std::size_t>(table);
    return problem_.task().size_of(number, problem_.task().tables[number].shape.dimension);
  }

  [[nodiscard]] std::vector<TableShardingSpec> others_of(std::int64_t table) const {
    const TableShardingSpec& now = entry_of(table);
    const std::vector<DeviceLoad> loads = loads_without_caches(problem_, without(best_.plan, table));
    std::vector<TableShardingSpec> others;
    if (now.sharding != TableSharding::DataParallel && size_of(table) <= kMostCopies) {
      others.push_back(on_all(TableSharding::DataParallel));
    }
    const bool is_by_all_rows = now.sharding == TableSharding::RowWise && now.ranks.empty();
    const bool takes_rows_of_all = !is_hugectr(problem_) || !best_.division.by_nodes;
    if (takes_rows_of_all && (!is_by_all_rows || is_in_host_memory(now))) {
      others.push_back(on_all(TableSharding::RowWise));
    }
    if (now.sharding != TableSharding::TableRowWise && has_even_nodes(problem_) && !is_hugectr(problem_)) {
      others.push_back(on_all(TableSharding::TableRowWise));
      others.back().node = first_done_node(loads);
    }
    if ((now.ranks.size() != 1 || is_in_host_memory(now)) && !best_.division.by_nodes) {
      for (const std::uint32_t rank : first_done_with_room(loads, size_of(table))) {
        others.push_back(whole_on(rank));
      }
      if (!others.empty() && others.back().sharding == TableSharding::ColumnWise) {
        others.push_back(by_itself(others.back()));
      }
    }
    if (is_in_host_memory(now)) {
      add_whole_in_host_memory(table, now, loads, others);
      std::erase_if(others, [&](const TableShardingSpec& other) {
        return is_in_host_memory(other) && other.ranks == now.ranks && other.sharding == now.sharding;
      });
    }
    const auto in_host = std::ranges::find_if(best_.plan.tables, is_in_host_memory);
    if (in_host != best_.plan.tables.end() && !is_in_host_memory(now)) {
      if (in_host->ranks.size() != 1) {
        others.push_back(*in_host);
      } else {
        add_whole_in_host_memory(table, *in_host, loads, others);
      }
    }
    return others;
  }

  /// With others, and by itself where those are cut, as tables on GPUs.
  void add_whole_in_host_memory(std::int64_t table, const TableShardingSpec& how,
                                const std::vector<DeviceLoad>& loads,
                                std::vector<TableShardingSpec>& others) const {
    for (const std::uint32_t rank : first_done_with_room(loads, size_on_gpu(table, how))) {
      others.push_back(whole_on(rank, how));
      if (others.back().sharding == TableSharding::ColumnWise) {
        others.push_back(by_itself(others.back()));
      }
    }
  }

  /// The one that is done first with its look-ups.
  [[nodiscard]] std::int64_t first_done_node(const std::vector<DeviceLoad>& loads) const {
    const auto nodes = problem_.ranks_of_node();
    const auto slowest = [&](const std::vector<std::uint32_t>& ranks) {
      Seconds most;
      for (const std::uint32_t rank : ranks) {
        most = std::max(most, loads[rank].compute);
      }
      return most;
    };
    return std::ranges::min_element(nodes, {}, slowest) - nodes.begin();
  }

  /// Of a table in host memory: what could change places with it, for it would be read less there. The
  /// largest, four at most.
  [[nodiscard]] std::vector<std::int64_t> colder_on_gpus(std::int64_t table) const {
    constexpr std::size_t kMost = 4;
    const TableShardingSpec& now = entry_of(table);
    if (!is_in_host_memory(now)) {
      return {};
    }
    const double here = heat(problem_, table, now);
    std::vector<std::int64_t> colder = largest_first(problem_.task());
    std::erase_if(colder, [&](std::int64_t other) {
      const TableShardingSpec& entry = entry_of(other);
      return is_in_host_memory(entry) || !can_be_as(table, entry) || heat(problem_, other, now) >= here;
    });
    colder.resize(std::min(colder.size(), kMost));
    return colder;
  }

  [[nodiscard]] bool can_be_as(std::int64_t table, const TableShardingSpec& entry) const {
    const std::int64_t columns = problem_.task().tables[static_cast<std::size_t>(table)].shape.dimension;
    const auto pieces = static_cast<std::int64_t>(entry.ranks.size());
    return entry.sharding == TableSharding::DataParallel
               ? size_of(table) <= kMostCopies
               : entry.sharding != TableSharding::ColumnWise ||
                     columns % (sharding::kColumnStep * pieces) == 0;
  }

  /// The two, at most, that are done first with their look-ups. @param loads without the table
  [[nodiscard]] std::vector<std::uint32_t> first_done_with_room(const std::vector<DeviceLoad>& loads,
                                                                Bytes size) const {
    constexpr std::size_t kMost = 2;
    std::vector<std::uint32_t> ranks = problem_.task().places();
    std::erase_if(ranks, [&](std::uint32_t rank) {
      return loads[rank].memory + size > problem_.task().capacity[rank];
    });
    std::ranges::stable_sort(ranks, {}, [&](std::uint32_t rank) { return loads[rank].compute; });
    ranks.resize(std::min(ranks.size(), kMost));
    return ranks;
  }

  /// Of a table that is in host memory as @p how says: what is not its cache, which takes what is left.
  [[nodiscard]] Bytes size_on_gpu(std::int64_t table, TableShardingSpec how) const {
    how.cache_load_factor = has_cache(how) ? std::optional{kLeastCache} : std::nullopt;
    const EmbeddingTable& shape = problem_.task().tables[static_cast<std::size_t>(table)].shape;
    return on_gpu(located(shape, how), problem_.storage().sharded);
  }

  /// Rows of tables in host memory are looked up and exchanged by themselves, which takes its time until the
  /// last of these tables is whole: all of them at once, the most read first, each on the GPU that is done
  /// first with what it has by then; with others, and by themselves where those are cut.
  void attempt_whole_in_host_memory() {
    std::vector<std::pair<std::int64_t, TableShardingSpec>> cut;
    for (const TableShardingSpec& entry : best_.plan.tables) {
      for (const std::int64_t table : entry.tables) {
        if (is_in_host_memory(entry) && entry.ranks.size() != 1) {
          cut.emplace_back(table, entry);
        }
      }
    }
    std::ranges::stable_sort(cut, std::greater{}, [&](const auto& one) {
      const auto number = static_cast<std::size_t>(one.first);
      return problem_.task().indices_of(number) *
             static_cast<double>(problem_.task().tables[number].shape.dimension);
    });
    EmbeddingPlan plan = best_.plan;
    for (auto& [table, entry] : cut) {
      plan = without(std::move(plan), table);
      const std::vector<DeviceLoad> loads = loads_without_caches(problem_, plan);
      const std::vector<std::uint32_t> ranks = first_done_with_room(loads, size_on_gpu(table, entry));
      if (ranks.empty()) {
        return;
      }
      entry = whole_on(ranks.front(), entry);
      entry.tables = {table};
      plan.tables.push_back(entry);
    }
    if (!cut.empty()) {
      attempt_with_and_apart(std::move(plan), cut.size());
    }
  }

  /// @param last of the entries: whole tables in host memory
  void attempt_with_and_apart(EmbeddingPlan plan, std::size_t last) {
    EmbeddingPlan apart = plan;
    for (TableShardingSpec& entry : std::span{apart.tables}.last(last)) {
      entry = by_itself(std::move(entry));
    }
    const bool is_another = plan.tables.back().sharding == TableSharding::ColumnWise;
    attempt(std::move(plan));
    if (is_another) {
      attempt(std::move(apart));
    }
  }

  /// Twice and half as much of the caches for a table, the others' give way or grow.
  void attempt_other_shares_of_caches(std::int64_t table) {
    for (const double times : {2.0, 0.5}) {
      TableShardingSpec entry = entry_of(table);
      EmbeddingPlan plan = without(best_.plan, table);
      if (!has_cache(entry) || !has_cache(plan)) {
        return;
      }
      entry.cache_load_factor =
          std::min(1.0, times * entry.cache_load_factor.value_or(TableShardingSpec::kCacheLoadFactor));
      entry.tables = {table};
      plan.tables.push_back(std::move(entry));
      attempt(std::move(plan));
    }
  }

  /// As the plan has whole tables (sharding::embedding_plan_of()).
  [[nodiscard]] TableShardingSpec whole_on(std::int64_t rank) const {
    const bool any_is_cut = std::ranges::any_of(best_.plan.tables, [](const TableShardingSpec& entry) {
      return entry.sharding == TableSharding::ColumnWise && entry.ranks.size() > 1;
    });
    TableShardingSpec entry;
    entry.sharding = any_is_cut && best_.division.whole == WholeTables::WithCutOnes
                         ? TableSharding::ColumnWise
                         : TableSharding::TableWise;
    entry.ranks = {rank};
    return entry;
  }

  /// Likewise, in host memory as @p how says.
  [[nodiscard]] TableShardingSpec whole_on(std::int64_t rank, const TableShardingSpec& how) const {
    TableShardingSpec entry = whole_on(rank);
    entry.kernel = how.kernel;
    entry.cache_load_factor = how.cache_load_factor;
    return entry;
  }

  void attempt_whole_tables_elsewhere() {
    Division division = best_.division;
    division.whole = division.whole == WholeTables::Apart ? WholeTables::WithCutOnes : WholeTables::Apart;
    if (!best_.pieces.pieces.empty() && !division.by_nodes) {
      EmbeddingPlan plan = plan_of(best_.pieces, division);
      if (sharding::in_one_line(plan) != sharding::in_one_line(best_.plan)) {
        attempt(std::move(plan));
      }
    }
  }

  [[nodiscard]] bool is_over() const { return left_ <= 0 || options_.stopped(); }

  void attempt(EmbeddingPlan plan) {
    if (is_over()) {
      return;
    }
    --left_;
    Candidate changed = best_;
    std::optional<EmbeddingPlan> full = with_full_caches(problem_, plan);
    changed.plan = full ? *std::move(full) : std::move(plan);
    changed.division = {};
    changed.pieces = {};
    make_movable(problem_, changed);
    if (!changed.pieces.pieces.empty()) {
      changed.plan = plan_of(changed.pieces, changed.division);
    }
    changed.step = simulator_.step_time(changed.plan);
    if (changed.step && *changed.step < *best_.step) {
      best_ = std::move(changed);
      best_.name = name_of_further(best_.plan);
      options_.found(best_);
    }
  }

  const ShardingProblem& problem_;
  StepSimulator& simulator_;
  const RefinementOptions& options_;
  std::int64_t left_;  // simulations
  Candidate best_;
};

}  // namespace

Candidate with_other_shardings(const ShardingProblem& problem, StepSimulator& simulator,
                               const Candidate& start, const RefinementOptions& options) {
  const bool has_others = problem.task().may_cut || is_hugectr(problem);
  return has_others ? OtherShardings{problem, simulator, start, options}.run() : start;
}

}  // namespace lockstep
