#pragma once

/// @file
/// The results of a sweep as tables: for people, for spreadsheets, for programs.

#include <optional>
#include <string>
#include <vector>

#include "app/sweep/point_record.hpp"

namespace lockstep {

struct SweepTable {
  std::string name;                  ///< of the scenario
  std::vector<std::string> columns;  ///< keys that differ
  std::vector<SweepRow> rows;        ///< in the order of the plan
};

/// The row with the least cost where all that are done have one, else with the most tokens or samples per
/// second; std::nullopt where no point is done. Of equal ones the first.
[[nodiscard]] std::optional<std::size_t> best_row(const SweepTable& table);

/// True where every point that is done has a cost.
[[nodiscard]] bool is_judged_by_cost(const SweepTable& table);

/// Points that cannot be told from the best: by what it is the best in, within its step time's band.
[[nodiscard]] std::size_t ties_of_best(const SweepTable& table);

/// Numbers of all rows, best first, failed ones last; equal ones in the order of the plan.
[[nodiscard]] std::vector<std::size_t> best_first(const SweepTable& table);

/// One screen: all points, or the best where there are many. The best is marked with `*`.
[[nodiscard]] std::string sweep_text(const SweepTable& table);

/// The best point in one sentence, with its band and how many points lie within that.
[[nodiscard]] std::string best_sentence(const SweepTable& table);

/// RFC 4180, with a heading; SI units; what is not known is empty.
[[nodiscard]] std::string sweep_csv(const SweepTable& table);

/// {name, columns, best, points: [{values: {KEY: TEXT}, exit_code, message or figures, key}]}.
[[nodiscard]] std::string sweep_json(const SweepTable& table);

/// The columns by their last word where that is unique (`nics_per_node`), else whole.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<std::string>& columns);

}  // namespace lockstep
