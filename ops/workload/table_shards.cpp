#include "ops/workload/table_shards.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kMostNamed = 16;  // numbers in a message

using Problems = std::vector<Problem>;

void check_known_tables(const TableShardingSpec& entry, std::size_t tables, Problems& problems) {
  for (const std::int64_t table : entry.tables) {
    if (table < 0 || static_cast<std::size_t>(table) >= tables) {
      problems.push_back(
          {entry.at, fmt::format("there is no table {}: the model has tables 0 to {}", table, tables - 1)});
    }
  }
}

std::vector<std::int64_t> nodes_of(const TableShardingSpec& entry) {
  return entry.node ? std::vector{*entry.node} : entry.nodes;
}

/// Rows are cut among ranks, or nodes, of which each has one piece; columns may be several of one rank.
void check_once(const TableShardingSpec& entry, Problems& problems) {
  const auto find_twice = [&](std::vector<std::int64_t> numbers, const char* what) {
    std::ranges::sort(numbers);
    if (const auto twice = std::ranges::adjacent_find(numbers); twice != numbers.end()) {
      problems.push_back({entry.at, fmt::format("{} {} is named twice: rows are cut into one piece for each",
                                                what, *twice)});
    }
  };
  if (entry.sharding != TableSharding::ColumnWise) {
    find_twice(entry.ranks, "rank");
  }
  find_twice(nodes_of(entry), "node");
}

void check_places(const TableShardingSpec& entry, const RankNodes& ranks, Problems& problems) {
  for (const std::int64_t rank : entry.ranks) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.ranks()) {
      problems.push_back(
          {entry.at, fmt::format("there is no rank {}: the job has ranks 0 to {}", rank, ranks.ranks() - 1)});
    }
  }
  for (const std::int64_t node : nodes_of(entry)) {
    const auto nodes = static_cast<std::int64_t>(ranks.nodes().size());
    if (node < 0 || node >= nodes) {
      problems.push_back(
          {entry.at, fmt::format("there is no node {}: the job has nodes 0 to {}", node, nodes - 1)});
    }
  }
  check_once(entry, problems);
  if (entry.sharding == TableSharding::TableRowWise && !ranks.even()) {
    problems.push_back({entry.at,
                        "table_row_wise exchanges between ranks at the same place of their nodes: every node "
                        "needs equally many ranks"});
  }
}

void check_columns(const TableShardingSpec& entry, std::span<const EmbeddingTable> tables,
                   Problems& problems) {
  const auto pieces = static_cast<std::int64_t>(entry.ranks.size());
  for (const std::int64_t table : entry.tables) {
    const bool known = table >= 0 && static_cast<std::size_t>(table) < tables.size();
    if (!known || entry.sharding != TableSharding::ColumnWise) {
      continue;
    }
    const std::int64_t dimension = tables[static_cast<std::size_t>(table)].dimension;
    if (dimension % pieces != 0) {
      problems.push_back(
          {entry.at, fmt::format("the {} columns of table {} cannot be cut into {} equal pieces", dimension,
                                 table, pieces)});
    }
  }
}

void check_complete(const EmbeddingPlan& plan, std::size_t tables, Problems& problems) {
  std::vector<bool> planned(tables, false);
  for (const TableShardingSpec& entry : plan.tables) {
    for (const std::int64_t table : entry.tables) {
      if (table >= 0 && static_cast<std::size_t>(table) < tables) {
        planned[static_cast<std::size_t>(table)] = true;
      }
    }
  }
  std::vector<std::size_t> missing;
  for (std::size_t table = 0; table < tables; ++table) {
    if (!planned[table]) {
      missing.push_back(table);
    }
  }
  if (!missing.empty()) {
    const auto named = std::span{missing}.first(std::min(missing.size(), kMostNamed));
    problems.push_back({plan.at, fmt::format("the plan says nothing of table{} {}{}; the model has {} tables",
                                             missing.size() == 1 ? "" : "s", fmt::join(named, ", "),
                                             missing.size() > kMostNamed ? ", ..." : "", tables)});
  }
}

/// Puts shards where they belong, and counts the memory.
class Sharder {
 public:
  Sharder(const RankNodes& ranks, const ShardStorage& storage)
      : ranks_{ranks}, storage_{storage}, used_(ranks.ranks()) {}

  void place(const EmbeddingTable& table, const TableShardingSpec& entry) {
    ShardGroup& group = groups_[entry.sharding];
    group.sharding = entry.sharding;
    group.shards.resize(ranks_.ranks());
    group.width += table.dimension;
    switch (entry.sharding) {
      case TableSharding::TableWise:
      case TableSharding::ColumnWise:
        return place_columns(table, entry.ranks, group);
      case TableSharding::RowWise:
        return place_rows(table, entry.ranks.empty() ? all_ranks() : ranks_of(entry.ranks), group);
      case TableSharding::TableRowWise:
        return place_rows(table, ranks_on(nodes_of(entry)), group);
      case TableSharding::DataParallel:
        for (const std::uint32_t rank : all_ranks()) {
          hold(table, rank, storage_.replicated, group);
        }
        return;
    }
  }

  [[nodiscard]] const std::vector<Bytes>& used() const { return used_; }

  [[nodiscard]] std::vector<ShardGroup> groups() && {
    std::vector<ShardGroup> groups;
    for (auto& [sharding, group] : groups_) {
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> all_ranks() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < ranks_.ranks(); ++rank) {
      all.push_back(rank);
    }
    return all;
  }

  [[nodiscard]] static std::vector<std::uint32_t> ranks_of(const std::vector<std::int64_t>& ranks) {
    return {ranks.begin(), ranks.end()};
  }

  [[nodiscard]] std::vector<std::uint32_t> ranks_on(const std::vector<std::int64_t>& nodes) const {
    std::vector<std::uint32_t> ranks;
    for (const std::int64_t node : nodes) {
      const std::vector<std::uint32_t>& of_node = ranks_.nodes()[static_cast<std::size_t>(node)];
      ranks.insert(ranks.end(), of_node.begin(), of_node.end());
    }
    return ranks;
  }

  void hold(const EmbeddingTable& shard, std::size_t rank, const TableStorage& storage, ShardGroup& group) {
    used_[rank] += on_gpu(shard, storage);
    group.shards[rank].push_back(shard);
  }

  void place_columns(const EmbeddingTable& table, const std::vector<std::int64_t>& on, ShardGroup& group) {
    EmbeddingTable piece = table;
    piece.dimension /= static_cast<std::int64_t>(on.size());
    for (const std::int64_t rank : on) {
      hold(piece, static_cast<std::size_t>(rank), storage_.sharded, group);
    }
  }

  void place_rows(const EmbeddingTable& table, const std::vector<std::uint32_t>& on, ShardGroup& group) {
    const auto pieces = static_cast<std::int64_t>(on.size());
    const std::int64_t block = (table.rows + pieces - 1) / pieces;
    for (std::int64_t i = 0; i < pieces; ++i) {
      EmbeddingTable piece = table;
      piece.rows = std::clamp<std::int64_t>(table.rows - i * block, 0, block);
      piece.pooling_factor *= static_cast<double>(piece.rows) / static_cast<double>(table.rows);
      hold(piece, on[static_cast<std::size_t>(i)], storage_.sharded, group);
    }
  }

  const RankNodes& ranks_;
  ShardStorage storage_;
  std::vector<Bytes> used_;  // by rank
  std::map<TableSharding, ShardGroup> groups_;
};

void check_memory(const EmbeddingPlan& plan, std::span<const Bytes> used, std::span<const Bytes> capacity) {
  std::vector<std::size_t> full;
  for (std::size_t rank = 0; rank < used.size(); ++rank) {
    if (used[rank] > capacity[rank]) {
      full.push_back(rank);
    }
  }
  if (!full.empty()) {
    const std::size_t first = full.front();
    const std::string others =
        full.size() == 1 ? "" : fmt::format(" ({} more ranks hold too much)", full.size() - 1);
    throw TablesDoNotFit{plan.at, fmt::format("the plan puts {} of tables on rank {}, whose GPU has {} for "
                                              "them{}; 'memory_share' and 'respect_memory' say how much",
                                              used[first], first, capacity[first], others)};
  }
}

}  // namespace

EmbeddingTable located(EmbeddingTable table, const TableShardingSpec& entry) {
  if (entry.kernel == TableKernel::Uvm) {
    table.location = TableLocation::Host;
  } else if (entry.kernel == TableKernel::UvmCaching) {
    table.location = TableLocation::HostCached;
    table.cache_load_factor = entry.cache_load_factor.value_or(TableShardingSpec::kCacheLoadFactor);
  }
  return table;
}

Bytes on_gpu(const EmbeddingTable& table, const TableStorage& storage) {
  const auto rows = static_cast<double>(table.rows);
  const auto columns = static_cast<double>(table.dimension);
  if (table.location == TableLocation::Gpu) {
    return storage.of(rows, columns);
  }
  const Bytes states = rows * storage.row;
  if (table.location == TableLocation::Host) {
    return states;
  }
  const double places = table.cache_load_factor * rows;
  return places * (columns * storage.weight + kCachePlace) + rows * kCachedRow + states;
}

RankNodes::RankNodes(std::size_t ranks, std::span<const int> node_of_gpu) {
  std::map<int, std::size_t> known;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const int node = node_of_gpu.empty() ? 0 : node_of_gpu[rank];
    const std::size_t number = known.try_emplace(node, known.size()).first->second;
    nodes_.resize(known.size());
    nodes_[number].push_back(static_cast<std::uint32_t>(rank));
    node_of_.push_back(number);
  }
}

bool RankNodes::even() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& node) { return node.size() == nodes_.front().size(); });
}

std::vector<std::vector<std::uint32_t>> RankNodes::across_nodes() const {
  std::vector<std::vector<std::uint32_t>> groups(nodes_.front().size());
  for (const auto& node : nodes_) {
    for (std::size_t place = 0; place < node.size(); ++place) {
      groups[place].push_back(node[place]);
    }
  }
  return groups;
}

std::vector<ShardGroup> shard_tables(std::span<const EmbeddingTable> tables, const EmbeddingPlan& plan,
                                     const RankNodes& ranks, std::span<const Bytes> capacity,
                                     const ShardStorage& storage) {
  Problems problems;
  for (const TableShardingSpec& entry : plan.tables) {
    check_known_tables(entry, tables.size(), problems);
    check_places(entry, ranks, problems);
    check_columns(entry, tables, problems);
  }
  check_complete(plan, tables.size(), problems);
  Sharder sharder{ranks, storage};
  if (problems.empty()) {
    for (const TableShardingSpec& entry : plan.tables) {
      for (const std::int64_t table : entry.tables) {
        sharder.place(located(tables[static_cast<std::size_t>(table)], entry), entry);
      }
    }
    check_memory(plan, sharder.used(), capacity);
  } else {
    throw InputError{std::move(problems)};
  }
  return std::move(sharder).groups();
}

}  // namespace lockstep
