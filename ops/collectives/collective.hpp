#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Reduce,
  Send,
  Receive,
  Barrier,
};

/// A collective as one rank calls it. Sizes as nccl-tests define them:
///   all-reduce, broadcast, reduce   bytes of the buffer
///   all-gather, reduce-scatter      bytes of the large (gathered, unreduced) buffer
///   all-to-all                      bytes a rank sends in total, its own part included
///   send, receive                   bytes of the message
///   barrier                         0
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::AllReduce;
  DataType type = DataType::FP32;
  std::uint32_t group = 0;  ///< index into Program::groups
  Bytes size;
  /// Uneven all-to-all: bytes this rank sends to each member, in group order (`size` is their sum); else
  /// empty.
  std::vector<double> send_bytes;
  int peer = 0;  ///< position in the group: root of broadcast and reduce, other end of send and receive
  /// Send and receive: by the communicator of the group, in one batch with others (PyTorch's
  /// batch_isend_irecv); else by one that the two have for themselves.
  bool batched = false;
  /// Most SMs that its kernel holds where those of NCCL hold more (Transformer Engine's userbuffers).
  int sm_limit = std::numeric_limits<int>::max();
  /// Time of a collective in a replayed trace, from when all members had arrived; it then uses no links.
  std::optional<Seconds> recorded = std::nullopt;
  bool operator==(const CollectiveCall&) const = default;
};

/// `all_reduce`, `all_to_all`, ...
[[nodiscard]] std::string to_string(CollectiveKind kind);

}  // namespace lockstep
