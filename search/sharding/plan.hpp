#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "search/sharding/task.hpp"

namespace lockstep::sharding {

/// All rows of some columns of a table, on one device. A table in one piece is table-wise, else column-wise.
struct Piece {
  std::uint32_t table = 0;
  std::int64_t columns = 0;
  std::uint32_t device = 0;
  bool operator==(const Piece&) const = default;
};

/// An answer: pieces that together are the task's tables.
struct Plan {
  std::vector<Piece> pieces;
  bool operator==(const Plan&) const = default;
};

/// Memory that the plan fills, by device.
[[nodiscard]] std::vector<Bytes> memory_of(const Plan& plan, const Task& task);

/// Elements of the pooled rows that each device looks up for a sample.
[[nodiscard]] std::vector<double> widths_of(const Plan& plan, const Task& task);

/// Indices and offsets that each device needs for a sample: those of every lookup, and one for every bag.
[[nodiscard]] std::vector<double> indices_of(const Plan& plan, const Task& task);

/// Every column of every table is somewhere, once, and no device holds more than it has memory for.
[[nodiscard]] bool is_valid(const Plan& plan, const Task& task);

/// The tables whole, in order, on no particular device yet.
[[nodiscard]] std::vector<Piece> whole_tables(const Task& task);

}  // namespace lockstep::sharding
