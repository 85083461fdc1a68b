#include "search/sharding/table_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "base/yaml_reader.hpp"

namespace lockstep::sharding {
namespace {

constexpr std::array<const char*, 17> kBins{"bin_0",  "bin_1",  "bin_2",  "bin_3",  "bin_4",  "bin_5",
                                            "bin_6",  "bin_7",  "bin_8",  "bin_9",  "bin_10", "bin_11",
                                            "bin_12", "bin_13", "bin_14", "bin_15", "bin_16"};

struct TableLine {
  std::int64_t index = 0, row = 0;
  double pooling_factor = 0;
  std::optional<double> log2_rate_median, log2_rate_sigma, support_rows, unique_rows;
  ReuseBins bins{};

  template <class Visitor>
  static void describe(Visitor& key, TableLine& table) {
    key.required("index", table.index, "number of the table");
    key.required("row", table.row, "rows: the largest index + 1");
    key.required("pooling_factor", table.pooling_factor, "mean lookups per bag, 0 for an empty table");
    key.optional("log2_rate_median", table.log2_rate_median, std::nullopt, "of a row's uses in the batch");
    key.optional("log2_rate_sigma", table.log2_rate_sigma, std::nullopt, "their spread, in log2 units");
    key.optional("support_rows", table.support_rows, std::nullopt, "rows that are looked up at all");
    key.optional("unique_rows", table.unique_rows, std::nullopt, "different rows in the batch");
    for (std::size_t bin = 0; bin < kBins.size(); ++bin) {
      key.required(kBins[bin], table.bins[bin], "share of the touched rows used so often");
    }
  }
  void check() const {
    if (row < 1) throw FieldError{"row", "a table has at least 1 row"};
    if (!(pooling_factor >= 0)) throw FieldError{"pooling_factor", "'pooling_factor' is 0 or more"};
  }
};

struct TableSetSpec {
  std::string note;
  std::int64_t batch = 0;
  std::vector<TableLine> tables;

  template <class Visitor>
  static void describe(Visitor& key, TableSetSpec& set) {
    key.optional("note", set.note, "", "where the tables come from");
    key.required("batch", set.batch, "samples that the reuse was counted in");
    key.required("tables", set.tables, "the tables");
  }
  void check() const {
    if (batch < 1) throw FieldError{"batch", "at least 1 sample is needed"};
    if (tables.empty()) throw FieldError{"tables", "at least one table is needed"};
  }
};

Table table_of(const TableLine& line) {
  Table table;
  table.shape.rows = line.row;
  table.shape.pooling_factor = line.pooling_factor;
  table.shape.index_skew = line.log2_rate_sigma.value_or(0);
  if (line.support_rows) {
    table.shape.active_rows = std::clamp(*line.support_rows / static_cast<double>(line.row), 1e-9, 1.0);
  }
  table.reuse = line.bins;
  return table;
}

}  // namespace

TableSet read_table_set(const std::filesystem::path& path) {
  const auto spec = read_file<TableSetSpec>(path);
  TableSet set{spec.batch, {}};
  for (const TableLine& line : spec.tables) {
    set.tables.push_back(table_of(line));
  }
  return set;
}

}  // namespace lockstep::sharding
