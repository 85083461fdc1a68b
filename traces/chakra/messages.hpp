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

/// Messages from a rank to another that tell themselves from others by a tag.
struct Channel {
  std::uint32_t source = 0, target = 0;
  std::int32_t tag = 0;
  auto operator<=>(const Channel&) const = default;
};

/// A send or receive: which node says it, and its bytes.
struct MessageEnd {
  std::uint64_t node = 0;
  double size = 0;
};

/// @throws InputError naming both ranks, the tag and the file where the k-th send does not meet a k-th
/// receive of
///   its size, or a rank is not one of the job's
void expect_pairs(const Channel& channel, std::span<const MessageEnd> sends,
                  std::span<const MessageEnd> receives, const TraceFiles& files);

/// The channel of the message that a node of @p rank asks for.
/// @throws InputError for a message of another rank, to itself, or to a rank that there is not
[[nodiscard]] Channel channel_of(std::uint32_t rank, std::uint64_t node, const TraceTables::Call& call,
                                 const TraceFiles& files);

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
