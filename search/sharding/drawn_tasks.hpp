#pragma once

#include <cstdint>
#include <vector>

#include "search/sharding/table_file.hpp"

namespace lockstep::sharding {

/// Tasks as NeuroShard's evaluation draws them (tools/gen_tasks.py).
struct TaskProtocol {
  std::size_t devices = 4;
  std::int64_t widest = 128;  ///< dimensions are this, half of it, ..., 4
  std::int64_t fewest = 10;   ///< tables
  std::int64_t most = 60;     ///< tables, itself not
  Bytes device_memory{4.0 * 1024 * 1024 * 1024};
  Bytes most_memory{15.0 * 1024 * 1024 * 1024};  ///< of all tables; 15 GiB for 4 devices of 4 GiB
  std::size_t tasks = 100;
  std::uint32_t seed = 0;
  /// Tasks that take too much memory are drawn anew from the number of tables on. The authors keep that
  /// number, which makes tasks of wide tables many and small; ../shared's reference results do not.
  bool redraws_count = false;
};

/// The protocol's tasks: how many tables, their numbers (with replacement) and their dimensions, again where
/// all together take too much. Random numbers are those of NumPy's legacy generator (MT19937; a bounded
/// integer takes as many low bits as needed until it is in range), so that a seed gives the authors' tasks on
/// the authors' tables.
/// @pre tasks of so little memory are drawn sooner or later
[[nodiscard]] std::vector<Task> drawn_tasks(const TableSet& set, const TaskProtocol& protocol);

}  // namespace lockstep::sharding
