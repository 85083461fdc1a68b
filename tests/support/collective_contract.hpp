#pragma once

/// @file
/// What every collective algorithm owes its callers, checked by running its schedule on symbols: a chunk is
/// how often each member's contribution is in it; sending copies, reducing adds.

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep::testing {

/// How often each member's contribution is in a chunk; empty: nothing arrived yet.
using Contributions = std::map<int, int>;

/// buffers[member][chunk]
using Buffers = std::vector<std::vector<Contributions>>;

inline Contributions everyone_once(int members) {
  Contributions all;
  for (int member = 0; member < members; ++member) {
    all[member] = 1;
  }
  return all;
}

/// The buffers of all members after running @p schedule on @p buffers.
inline Buffers run_on_symbols(const CommSchedule& schedule, Buffers buffers) {
  for (const CommStep& step : schedule.steps) {
    const Buffers before = buffers;  // the transfers of a step read what was there when it began
    for (const Transfer& transfer : step) {
      const auto chunk = static_cast<std::size_t>(transfer.chunk);
      const Contributions& sent = before.at(static_cast<std::size_t>(transfer.src)).at(chunk);
      Contributions& received = buffers.at(static_cast<std::size_t>(transfer.dst)).at(chunk);
      EXPECT_FALSE(sent.empty()) << "member " << transfer.src << " sends chunk " << chunk
                                 << " before it has it";
      if (!transfer.reduce) {
        received = sent;
        continue;
      }
      for (const auto& [member, times] : sent) {
        received[member] += times;
      }
    }
  }
  return buffers;
}

/// Who ends with a chunk, or begins with it. An all-to-all's chunk is src * n + dst; a broadcast's belongs to
/// the root; else owner * (chunks / n) + ..., but for schedules whose chunks have no owner.
inline int owner_of(const CollectiveRequest& request, const CommSchedule& schedule, int members, int chunk) {
  switch (request.kind) {
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return request.root;
    case CollectiveKind::Send:
    case CollectiveKind::Receive:
      return request.source;
    case CollectiveKind::AllToAll:
      return chunk / members;
    default:
      return chunk / std::max(1, schedule.chunks / members);
  }
}

inline bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::Reduce;
}

/// Before: a reduction finds a contribution of every member everywhere; the others only what a member owns.
inline Buffers initial_buffers(const CollectiveRequest& request, const CommSchedule& schedule, int members) {
  Buffers buffers(static_cast<std::size_t>(members));
  for (int member = 0; member < members; ++member) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const bool has = reduces(request.kind) || owner_of(request, schedule, members, chunk) == member;
      buffers[static_cast<std::size_t>(member)].push_back(has ? Contributions{{member, 1}} : Contributions{});
    }
  }
  return buffers;
}

/// Whether @p member must hold the result of @p chunk in the end.
inline bool receives(const CollectiveRequest& request, const CommSchedule& schedule, int members, int member,
                     int chunk) {
  switch (request.kind) {
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Reduce:
      return owner_of(request, schedule, members, chunk) == member;
    case CollectiveKind::AllToAll:
      return chunk % members == member &&
             (request.bytes.empty() || request.bytes[static_cast<std::size_t>(chunk)] > 0);
    case CollectiveKind::Send:
    case CollectiveKind::Receive:
      return member == request.root;
    default:
      return true;
  }
}

/// The contract: every member that must hold a chunk holds it, with each contribution exactly once.
inline void expect_correct(const CollectiveRequest& request, const CommSchedule& schedule, int members) {
  const Buffers after = run_on_symbols(schedule, initial_buffers(request, schedule, members));
  for (int member = 0; member < members; ++member) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      if (!receives(request, schedule, members, member, chunk)) {
        continue;
      }
      const Contributions expected = reduces(request.kind)
                                         ? everyone_once(members)
                                         : Contributions{{owner_of(request, schedule, members, chunk), 1}};
      EXPECT_EQ(after[static_cast<std::size_t>(member)][static_cast<std::size_t>(chunk)], expected)
          << "member " << member << ", chunk " << chunk << " of " << schedule.chunks;
    }
  }
}

/// Bytes by (src, dst) over a whole schedule.
inline std::map<std::pair<int, int>, double> bytes_by_pair(const CommSchedule& schedule) {
  std::map<std::pair<int, int>, double> bytes;
  for (const CommStep& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      bytes[{transfer.src, transfer.dst}] += transfer.size.in_base_units();
    }
  }
  return bytes;
}

/// The closed form of the traffic is the sum of the schedule.
inline void expect_same_traffic(const CollectiveRequest& request, const std::vector<ChannelEdge>& traffic,
                                const CommSchedule& schedule) {
  std::map<std::pair<int, int>, double> from_edges;
  for (const ChannelEdge& edge : traffic) {
    from_edges[{edge.src, edge.dst}] += edge.share * request.size.in_base_units();
  }
  const auto from_schedule = bytes_by_pair(schedule);
  ASSERT_EQ(from_edges.size(), from_schedule.size());
  for (const auto& [pair, bytes] : from_schedule) {
    ASSERT_TRUE(from_edges.contains(pair)) << pair.first << " -> " << pair.second;
    EXPECT_NEAR(from_edges[pair], bytes, 1e-9 * request.size.in_base_units());
  }
}

}  // namespace lockstep::testing
