#include "search/sharding/embedding_plans.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lockstep::sharding {
namespace {

/// The rank of each piece, by table; all pieces of a table are as wide as the narrowest.
std::map<std::uint32_t, std::vector<std::int64_t>> ranks_by_table(const Plan& plan) {
  std::map<std::uint32_t, std::int64_t> narrowest;
  for (const Piece& piece : plan.pieces) {
    const auto [known, fresh] = narrowest.try_emplace(piece.table, piece.columns);
    known->second = std::min(known->second, piece.columns);
  }
  std::map<std::uint32_t, std::vector<std::int64_t>> ranks;
  for (const Piece& piece : plan.pieces) {
    const auto pieces = static_cast<std::size_t>(piece.columns / narrowest.at(piece.table));
    std::vector<std::int64_t>& of_table = ranks[piece.table];
    of_table.insert(of_table.end(), pieces, std::int64_t{piece.device});
  }
  return ranks;
}

/// A shard's place in its table.
struct Block {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0, rank = 0;
};

std::vector<Block> blocks_by_rows(const TableExtent& table, const std::vector<std::uint32_t>& ranks) {
  const auto pieces = static_cast<std::int64_t>(ranks.size());
  const std::int64_t block = (table.rows + pieces - 1) / pieces;
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t first = std::min(i * block, table.rows);
    blocks.push_back({first, 0, std::min(block, table.rows - first), table.columns,
                      std::int64_t{ranks[static_cast<std::size_t>(i)]}});
  }
  return blocks;
}

std::vector<Block> blocks_of(const TableShardingSpec& entry, const TableExtent& table,
                             const std::vector<std::vector<std::uint32_t>>& ranks_of_node) {
  std::vector<std::uint32_t> all;
  for (const auto& ranks : ranks_of_node) {
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  std::ranges::sort(all);
  std::vector<Block> blocks;
  switch (entry.sharding) {
    case TableSharding::TableWise:
    case TableSharding::ColumnWise: {
      const std::int64_t width = table.columns / static_cast<std::int64_t>(entry.ranks.size());
      for (const std::int64_t rank : entry.ranks) {
        blocks.push_back({0, static_cast<std::int64_t>(blocks.size()) * width, table.rows, width, rank});
      }
      return blocks;
    }
    case TableSharding::RowWise:
      return blocks_by_rows(table, all);
    case TableSharding::TableRowWise:
      return blocks_by_rows(table, ranks_of_node[static_cast<std::size_t>(entry.node.value())]);
    case TableSharding::DataParallel:
      for (const std::uint32_t rank : all) {
        blocks.push_back({0, 0, table.rows, table.columns, std::int64_t{rank}});
      }
      return blocks;
  }
  return blocks;
}

const char* compute_kernel(const TableShardingSpec& entry) {
  if (entry.sharding == TableSharding::DataParallel) {
    return "dense";
  }
  switch (entry.kernel) {
    case TableKernel::Fused:
      return "fused";
    case TableKernel::Uvm:
      return "fused_uvm";
    case TableKernel::UvmCaching:
      return "fused_uvm_caching";
  }
  return "fused";
}

}  // namespace

EmbeddingPlan embedding_plan_of(const Plan& plan, const std::vector<std::int64_t>& numbers,
                                const Spread& spread, WholeTables whole_tables) {
  const auto ranks = ranks_by_table(plan);
  const bool cut = std::ranges::any_of(ranks, [](const auto& entry) { return entry.second.size() > 1; });
  const TableSharding whole =
      cut && whole_tables == WholeTables::WithCutOnes ? TableSharding::ColumnWise : TableSharding::TableWise;
  std::map<std::int64_t, int> parts;
  for (const std::int64_t number : numbers) {
    ++parts[number];
  }
  std::map<std::int64_t, std::set<std::int64_t>> by_rows;  // by number: the ranks of its parts
  using Place = std::pair<TableSharding, std::vector<std::int64_t>>;
  std::map<Place, std::vector<std::int64_t>> tables_on;  // tables of equal ranks together
  for (const auto& [table, on] : ranks) {
    if (parts.at(numbers[table]) > 1) {
      by_rows[numbers[table]].insert(on.begin(), on.end());
    } else {
      tables_on[{on.size() > 1 ? TableSharding::ColumnWise : whole, on}].push_back(numbers[table]);
    }
  }
  for (const auto& [number, on] : by_rows) {
    const TableSharding sharding = on.size() > 1 ? TableSharding::RowWise : whole;
    tables_on[{sharding, {on.begin(), on.end()}}].push_back(number);
  }
  EmbeddingPlan result;
  for (const auto& [place, tables] : tables_on) {
    TableShardingSpec& entry = result.tables.emplace_back();
    entry.tables = tables;
    std::ranges::sort(entry.tables);
    std::tie(entry.sharding, entry.ranks) = place;
  }
  result.tables.insert(result.tables.end(), spread.tables.begin(), spread.tables.end());
  return result;
}

std::string in_one_line(const EmbeddingPlan& plan) {
  std::string text = "{tables: [";
  for (const TableShardingSpec& entry : plan.tables) {
    text += (text.back() == '[' ? "" : ", ") + entry_text(entry);
  }
  return text + "]}";
}

std::string plan_json(const EmbeddingPlan& plan) {
  std::map<std::int64_t, std::string> lines;
  for (const TableShardingSpec& entry : plan.tables) {
    for (const std::int64_t table : entry.tables) {
      std::string line = fmt::format(R"(    {{"table": {}, "sharding": "{}", "kernel": "{}")", table,
                                     name_of(entry.sharding), compute_kernel(entry));
      if (!entry.ranks.empty()) {
        line += fmt::format(R"(, "ranks": [{}])", fmt::join(entry.ranks, ", "));
      }
      if (entry.node) {
        line += fmt::format(R"(, "node": {})", *entry.node);
      }
      if (!entry.nodes.empty()) {
        line += fmt::format(R"(, "nodes": [{}])", fmt::join(entry.nodes, ", "));
      }
      lines[table] = line + "}";
    }
  }
  std::vector<std::string> all;
  for (const auto& [table, line] : lines) {
    all.push_back(line);
  }
  return fmt::format("{{\n  \"tables\": [\n{}\n  ]\n}}\n", fmt::join(all, ",\n"));
}

std::string torchrec_json(const EmbeddingPlan& plan, const std::vector<TableExtent>& tables,
                          const std::vector<std::vector<std::uint32_t>>& ranks_of_node) {
  std::map<std::int64_t, std::string> parameters;
  for (const TableShardingSpec& entry : plan.tables) {
    for (const std::int64_t table : entry.tables) {
      std::vector<std::string> shards;
      std::vector<std::int64_t> ranks;  // of one shard after the other: TorchRec reads both lists in step
      for (const Block& block : blocks_of(entry, tables[static_cast<std::size_t>(table)], ranks_of_node)) {
        shards.push_back(fmt::format(
            R"(        {{"shard_offsets": [{}, {}], "shard_sizes": [{}, {}], "placement": "rank:{}/cuda"}})",
            block.row, block.column, block.rows, block.columns, block.rank));
        ranks.push_back(block.rank);
      }
      const bool is_copied = entry.sharding == TableSharding::DataParallel;
      parameters[table] = fmt::format(
          "    \"table_{}\": {{\n      \"sharding_type\": \"{}\", \"compute_kernel\": \"{}\", \"ranks\": "
          "[{}],\n"
          "      \"sharding_spec\": {}\n    }}",
          table, name_of(entry.sharding), compute_kernel(entry), fmt::join(ranks, ", "),
          is_copied ? "null" : fmt::format("[\n{}\n      ]", fmt::join(shards, ",\n")));
    }
  }
  std::vector<std::string> all;
  for (const auto& [table, text] : parameters) {
    all.push_back(text);
  }
  return fmt::format("{{\n  \"sparse.ebc\": {{\n{}\n  }}\n}}\n", fmt::join(all, ",\n"));
}

}  // namespace lockstep::sharding
