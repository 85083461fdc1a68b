#pragma once

/// @file
/// What a collective asks of the machine: which links carry how much, and what it costs besides.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/provenance.hpp"
#include "base/units.hpp"
#include "ops/collectives/collective.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Traffic between two members over the whole collective.
struct CommEdge {
  int src = 0;       ///< position in the group
  int dst = 0;       ///< != src
  double share = 0;  ///< bytes from src to dst, per byte of the plan's `size`
};

/// Traffic on one link over the whole collective: sum of the edges routed over it.
struct LinkLoad {
  LinkId link = 0;
  double share = 0;  ///< of the link's bandwidth: bytes sent, protocol overhead included, over `efficiency`,
                     ///< per byte of the plan's `size`
  double efficiency = 1;  ///< part of the link's bandwidth that this traffic can reach, (0, 1]

  /// Bytes that pass the link, protocol overhead included, per byte of the plan's `size`.
  [[nodiscard]] double sent() const { return share * efficiency; }

  bool operator==(const LinkLoad&) const = default;
};

/// All edges of a collective advance together (as a pipelined ring or tree does): alone on the machine it
/// takes
///   latency + size / min( rate_cap, min over links of bandwidth / share )
struct CollectivePlan {
  std::string algorithm;  ///< ring, tree, direct, hierarchical, ...
  std::string protocol;   ///< LL, LL128, Simple
  Bytes size;             ///< what progresses; edges and loads are shares of it
  Seconds latency;        ///< steps x (hop latency + protocol), paid before the transfer
  std::vector<CommEdge> edges;
  std::vector<LinkLoad> loads;  ///< sorted by link
  /// Most of `size` per second even on idle links (channels, protocol, SM copy rate).
  BytesPerSecond rate_cap{std::numeric_limits<double>::infinity()};
  Provenance provenance = Provenance::Guessed;  ///< of the costs of its algorithm and protocol on its links
  double band = 0;                              ///< relative half-width of its time, likewise
  int channels = std::numeric_limits<int>::max();  ///< most SMs that hold a message; max: not known
};

/// The communicator that a message goes by.
struct MessageCarrier {
  int members = 2;
  bool spans_nodes = false;
  bool operator==(const MessageCarrier&) const = default;
};

/// All members' calls of one collective, gathered: what each rank's CollectiveCall says together.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::AllReduce;
  DataType type = DataType::FP32;
  Bytes size;    ///< as in CollectiveCall
  int root = 0;  ///< broadcast, reduce; send: the receiver's position is `root`, the sender's `source`
  int source = 0;
  /// Uneven all-to-all: bytes[src * n + dst]; else empty.
  std::vector<double> bytes;
  std::optional<Seconds> recorded = std::nullopt;  ///< as in CollectiveCall
  MessageCarrier carrier = {};                     ///< of send and receive

  bool operator==(const CollectiveRequest&) const = default;
};

}  // namespace lockstep
