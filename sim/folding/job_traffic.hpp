#pragma once

/// @file
/// Everything that a job can put on the links, worked out before it runs.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ops/job.hpp"
#include "sim/communicator.hpp"
#include "sim/compiled_program.hpp"
#include "sim/copy_plan.hpp"

namespace lockstep {

/// Loads that a plan puts on links; plans of many sizes share them.
struct TrafficShape {
  double unit = 1;              ///< unit_of() the plans
  std::vector<LinkLoad> loads;  ///< as CollectivePlan::loads
  double fastest = 0;           ///< rate that the links allow alone, bytes of the plan's size per second
};

/// A collective of one group, planned. `plan` has neither edges nor loads: they are the shape's.
struct TrafficCall {
  CollectiveRequest request;
  CollectivePlan plan;
  std::uint32_t shape = 0;  ///< index into TrafficGroup::shapes
};

/// A process group, or a sender and its receiver.
struct TrafficGroup {
  std::uint32_t group = 0;  ///< index into Job::groups
  bool is_pair = false;     ///< ranks: sender, receiver
  std::vector<std::uint32_t> ranks;
  std::vector<TrafficCall> calls;  ///< of a group in the order of its members' programs; of a pair by size
  std::vector<TrafficShape> shapes;
  /// TrafficPair::place of all calls of a pair, by position.
  std::array<std::vector<std::uint32_t>, 2> places;
  MessageCarrier batch = {};  ///< of a pair: what carries its messages where they are batched
  bool is_lone = false;       ///< as lone_groups() says

  /// The plan that a member's call runs with; null: nothing of its kind and size.
  [[nodiscard]] const TrafficCall* find(const CollectiveCall& call) const;
};

/// One rank's sends and receives.
struct TrafficPair {
  std::uint32_t group = 0;     ///< index into JobTraffic::groups
  std::uint32_t position = 0;  ///< 0: sends
  /// The program's call: an index into Program::collectives, or kSlot + the slot that it fills.
  std::uint32_t place = 0;
  static constexpr std::uint32_t kSlot = 1U << 31U;
};

/// The ways of one rank's copies, each only if its program copies so.
struct TrafficCopies {
  std::optional<CopyRoute> to_device;
  std::optional<CopyRoute> to_host;

  [[nodiscard]] std::optional<CopyRoute>& on(Memcpy::Path path) {
    return path == Memcpy::Path::HostToDevice ? to_device : to_host;
  }
  /// @pre the program copies so
  [[nodiscard]] const CopyRoute& route(Memcpy::Path path) const {
    return path == Memcpy::Path::HostToDevice ? *to_device : *to_host;
  }
};

struct JobTraffic {
  std::vector<TrafficGroup> groups;             ///< by Job::groups, then sends
  std::vector<std::vector<TrafficPair>> pairs;  ///< by rank, by place
  std::vector<TrafficCopies> copies;            ///< by rank
  /// Index into `groups`, by group, sending and receiving rank.
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> pair_of;

  /// The traffic that @p rank takes part in when it makes @p call.
  [[nodiscard]] const TrafficGroup& group_of(const Job& job, std::uint32_t rank,
                                             const CollectiveCall& call) const;
};

/// @param compiled by rank
/// @pre no uneven all-to-all (their bytes are known when they meet)
[[nodiscard]] JobTraffic traffic_of(const Job& job, const Fabric& fabric,
                                    const std::vector<const CompiledProgram*>& compiled,
                                    const PlanCollective& plan_collective);

}  // namespace lockstep
