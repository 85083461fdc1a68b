#include "schedule/kept_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/yaml_value.hpp"

namespace lockstep {
namespace {

/// Writes every table of a group as a group of its own, with rows as they are hashed.
std::vector<TableGroupSpec> one_by_one(const DlrmSpec& dlrm) {
  std::vector<TableGroupSpec> single;
  for (const TableGroupSpec& group : dlrm.tables) {
    for (const std::int64_t rows : group.rows) {
      for (int copy = 0; copy < group.count; ++copy) {
        TableGroupSpec table = group;
        table.rows = {dlrm.max_rows ? std::min(rows, *dlrm.max_rows) : rows};
        table.count = 1;
        single.push_back(std::move(table));
      }
    }
  }
  return single;
}

TableGroupSpec& table_at(std::vector<TableGroupSpec>& tables, std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(tables.size())) {
    throw FieldError{"tables", fmt::format("the model has {} tables in this phase, 0 to {}: there is no {}",
                                           tables.size(), tables.size() - 1, number)};
  }
  return tables[static_cast<std::size_t>(number)];
}

}  // namespace

void keep_single_tables(const std::vector<KeptTablesSpec>& tables, std::int64_t multiple, KeptModel& kept) {
  if (tables.empty()) {
    return;
  }
  if (!kept.model.dlrm) {
    throw FieldError{"tables", "only a DLRM has embedding tables"};
  }
  DlrmSpec& dlrm = *kept.model.dlrm;
  dlrm.tables = one_by_one(dlrm);
  dlrm.max_rows.reset();
  std::set<std::int64_t> named;
  for (const KeptTablesSpec& share : tables) {
    if (share.dimension < 1 && dlrm.interaction == Interaction::Dot) {
      throw FieldError{"tables",
                       "a dot interaction needs one dimension for all tables: keep a share of "
                       "'embedding_dim'"};
    }
    for (const std::int64_t number : share.tables) {
      TableGroupSpec& table = table_at(dlrm.tables, number);
      if (!named.insert(number).second) {
        throw FieldError{"tables", fmt::format("table {} is named twice", number)};
      }
      const std::int64_t rows = table.rows.front(), dimension = table.dimension;
      table.rows.front() = kept_width(rows, share.rows, 1);
      table.dimension = kept_width(dimension, share.dimension, multiple);
      kept.widths.push_back({LayerGroup::EmbeddingRows, share.rows * share.dimension,
                             fmt::format("{} x {}", rows, dimension),
                             fmt::format("{} x {}", table.rows.front(), table.dimension), number});
      kept.structures += static_cast<double>(share.rows < 1 ? rows : dimension);
    }
  }
  kept.changes.emplace_back("dlrm.max_rows", yaml_of(dlrm.max_rows));
  kept.changes.emplace_back("dlrm.tables", yaml_of(dlrm.tables));
}

}  // namespace lockstep
