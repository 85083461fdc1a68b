#pragma once

/// @file
/// What every collective algorithm tells about itself: traffic, schedule, number of steps. One row per
/// algorithm in algorithm_table().

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/collectives/collective_plan.hpp"
#include "ops/collectives/comm_choice.hpp"
#include "ops/collectives/comm_schedule.hpp"
#include "ops/collectives/group_layout.hpp"

namespace lockstep {

/// A CommEdge of one channel; channels between the same two members may take different routes.
struct ChannelEdge {
  int src = 0;
  int dst = 0;
  double share = 0;           ///< bytes from src to dst per byte of the request's size
  std::uint32_t channel = 0;  ///< the flow number for Fabric::route
};

/// Messages that must follow one another, by where they travel.
struct StepCount {
  int within_nodes = 0;
  int between_nodes = 0;
  double last_chunk =
      0;  ///< of the size: what a member still copies to its place when the last message is in
};

/// Stateless. `traffic` is the sum of `schedule` over the steps, in closed form, so that it scales to groups
/// whose schedule nobody would unroll (a ring of n has 2 n (n-1) messages, and n edges).
struct CommAlgorithmRow {
  CommAlgorithm id;
  std::string_view name;
  /// Why the algorithm cannot serve this request in this group; empty: it can.
  std::string_view (*objection)(const CollectiveRequest&, const GroupLayout&);
  std::vector<ChannelEdge> (*traffic)(const CollectiveRequest&, const GroupLayout&);
  CommSchedule (*schedule)(const CollectiveRequest&, const GroupLayout&);
  StepCount (*steps)(const CollectiveRequest&, const GroupLayout&);
};

[[nodiscard]] std::span<const CommAlgorithmRow> algorithm_table();
[[nodiscard]] const CommAlgorithmRow& row_of(CommAlgorithm algorithm);

}  // namespace lockstep
