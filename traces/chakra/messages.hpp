#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/chakra/trace_files.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// A rank whose trace has messages.
struct MessagingRank {
  std::uint32_t rank = 0;
  TraceGraph graph;
  /// Receives, by their places, in the order in which the messages are sent: buffers are ready from the
  /// start.
  std::vector<std::uint32_t> posts;
};

/// Who a message of @p call goes to or comes from, seen from @p rank.
[[nodiscard]] inline std::uint32_t peer_of(const TraceTables::Call& call) {
  return call.kind == CollectiveKind::Send ? call.target : call.source;
}

/// Lets the k-th send of a pair of ranks and a tag meet its k-th receive, in the order of their traces, and
/// brings the nodes of all ranks into an order in which no message waits for one behind it: sends do not wait
/// for their receives (they are eager, as in ASTRA-sim), receives wait for their sends, collectives of a rank
/// keep their order. Fills MessagingRank::posts.
/// @throws InputError naming both ranks, the tag and the file: a send without its receive or the reverse,
/// another
///   size, a rank that there is not, a message of another rank than the trace's; messages that wait for each
///   other in a circle
void meet_messages(std::span<MessagingRank> ranks, const TraceTables& tables, const TraceFiles& files);

}  // namespace lockstep::chakra
