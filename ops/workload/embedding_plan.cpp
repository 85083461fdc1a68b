#include "ops/workload/embedding_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

void expect_no_ranks(const TableShardingSpec& entry, const char* where) {
  if (!entry.ranks.empty()) {
    throw FieldError{"ranks",
                     fmt::format("{} tables live on {}: leave 'ranks' out", name_of(entry.sharding), where)};
  }
}

void check_ranks(const TableShardingSpec& entry) {
  switch (entry.sharding) {
    case TableSharding::TableWise:
      if (entry.ranks.size() != 1) {
        throw FieldError{"ranks", fmt::format("a table_wise table lives on one rank, e.g. [0], not on {}",
                                              entry.ranks.size())};
      }
      return;
    case TableSharding::ColumnWise:
      if (entry.ranks.empty()) {
        throw FieldError{"ranks", "a column_wise table needs the rank of each of its pieces, e.g. [0, 1]"};
      }
      return;
    case TableSharding::TableRowWise:
      return expect_no_ranks(entry, "all ranks of one node ('node')");
    case TableSharding::RowWise:
      return;
    case TableSharding::DataParallel:
      return expect_no_ranks(entry, "all ranks");
  }
}

void check_kernel(const TableShardingSpec& entry) {
  if (entry.kernel != TableKernel::Fused && entry.sharding == TableSharding::DataParallel) {
    throw FieldError{"kernel", "data_parallel tables are on every GPU: leave 'kernel' out, or cut the table"};
  }
  if (!entry.cache_load_factor) {
    return;
  }
  if (entry.kernel != TableKernel::UvmCaching) {
    throw FieldError{"cache_load_factor",
                     fmt::format("only fused_uvm_caching has a cache, not {}", name_of(entry.kernel))};
  }
  if (!(*entry.cache_load_factor > 0) || *entry.cache_load_factor > 1) {
    throw FieldError{"cache_load_factor", "'cache_load_factor' is a fraction above 0, at most 1"};
  }
}

}  // namespace

void TableShardingSpec::check() const {
  if (tables.empty()) {
    throw FieldError{"tables", "at least one table is needed, e.g. [0]"};
  }
  check_ranks(*this);
  check_kernel(*this);
  if (sharding != TableSharding::TableRowWise && (node || !nodes.empty())) {
    throw FieldError{node ? "node" : "nodes",
                     fmt::format("only table_row_wise takes a node, not {}", name_of(sharding))};
  }
  if (sharding == TableSharding::TableRowWise && node.has_value() == !nodes.empty()) {
    throw FieldError{node ? "nodes" : "node", node ? "a table has a 'node' or several 'nodes', not both"
                                                   : "a table_row_wise table needs its node, e.g. 0"};
  }
}

void EmbeddingPlan::check() const {
  std::map<std::int64_t, std::size_t> entry_of;
  for (std::size_t entry = 0; entry < tables.size(); ++entry) {
    for (const std::int64_t table : tables[entry].tables) {
      const auto [known, fresh] = entry_of.emplace(table, entry);
      if (!fresh) {
        throw FieldError{fmt::format("tables.{}.tables", entry),
                         fmt::format("table {} is planned twice: entry {} of the plan has it too", table,
                                     known->second + 1)};
      }
    }
  }
}

std::string entry_text(const TableShardingSpec& entry) {
  std::string text =
      fmt::format("{{ tables: [{}], sharding: {}", fmt::join(entry.tables, ", "), name_of(entry.sharding));
  if (!entry.ranks.empty()) {
    text += fmt::format(", ranks: [{}]", fmt::join(entry.ranks, ", "));
  }
  if (entry.node) {
    text += fmt::format(", node: {}", *entry.node);
  }
  if (!entry.nodes.empty()) {
    text += fmt::format(", nodes: [{}]", fmt::join(entry.nodes, ", "));
  }
  if (entry.kernel != TableKernel::Fused) {
    text += fmt::format(", kernel: {}", name_of(entry.kernel));
  }
  if (entry.cache_load_factor) {
    text += fmt::format(", cache_load_factor: {}", *entry.cache_load_factor);
  }
  return text + " }";
}

std::string plan_text(const EmbeddingPlan& plan, const std::string& comment) {
  std::string line = comment;
  std::ranges::replace_if(
      line, [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  std::string text = fmt::format("# {}\ntables:\n", line);
  for (const TableShardingSpec& entry : plan.tables) {
    text += fmt::format("  - {}\n", entry_text(entry));
  }
  return text;
}

}  // namespace lockstep
