#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/provenance.hpp"
#include "base/units.hpp"

namespace lockstep {

/// A time for each of NCCL's protocols.
struct ProtocolTimes {
  Seconds ll{0};
  Seconds ll128{0};
  Seconds simple{0};

  template <class Visitor>
  static void describe(Visitor& key, ProtocolTimes& times) {
    key.optional("LL", times.ll, Seconds{0}, "with LL");
    key.optional("LL128", times.ll128, Seconds{0}, "with LL128");
    key.optional("Simple", times.simple, Seconds{0}, "with Simple, the flush of received data included");
  }
  /// @throws FieldError for a negative time
  void check() const;
};

/// The transport by which NCCL sends between nodes, and the software under it (configs/fabrics/): what a
/// message costs besides the wires that it takes. The values here are NCCL's own for InfiniBand, with the
/// error of a network of which nothing is known.
///
/// Source: NCCL 2.28 src/graph/tuning.cc (latencies are beyond its hwLatencies NET), src/init.cc (buffers),
/// src/include/collectives.h (steps).
struct NetworkFabric {
  static constexpr const char* kConfigKind = "fabrics";

  std::string name = "unknown";
  std::string source = "NCCL's own constants, for InfiniBand";
  ProtocolTimes latency;
  double ring_slowdown = 1.4;
  Seconds post{1e-6};
  Seconds message{1e-6};
  Bytes eager{0};
  Seconds handshake{0};
  Bytes buffer{4.0 * 1024 * 1024};
  Bytes message_size{128.0 * 1024};
  std::optional<BytesPerSecond> channel_rate = BytesPerSecond{14e9};
  std::optional<BytesPerSecond> proxy_rate;
  double efficiency = 1;
  std::vector<std::string> protocols;
  std::vector<std::string> algorithms;
  double error = 0.4;
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, NetworkFabric& fabric) {
    const NetworkFabric usual;
    key.required("name", fabric.name, "identifier");
    key.required("source", fabric.source, "where the numbers come from");
    key.optional(
        "latency", fabric.latency, {},
        "of a step between nodes, beyond what NCCL's tables have for InfiniBand (the profile's network)");
    key.optional("ring_slowdown", fabric.ring_slowdown, usual.ring_slowdown,
                 "a step of a ring with Simple, whose chunks are two messages, over one of a tree");
    key.optional(
        "post", fabric.post, usual.post,
        "least step inside nodes of a ring between them: the proxy thread posts (NCCL_NET_OVERHEAD); three "
        "times with Simple, twice on AMD");
    key.optional("message", fabric.message, usual.message,
                 "of the proxy thread for each message sent and received, one after the other, e.g. 1 us");
    key.optional("eager", fabric.eager, usual.eager, "largest message that needs no handshake");
    key.optional("handshake", fabric.handshake, usual.handshake,
                 "of each message larger than 'eager', e.g. 18 us");
    key.optional("buffer", fabric.buffer, usual.buffer,
                 "of a channel with Simple (NCCL_BUFFSIZE): what is in flight at most");
    key.optional("message_size", fabric.message_size, usual.message_size,
                 "largest message of a send, receive or all-to-all (NCCL_P2P_NET_CHUNKSIZE)");
    key.optional(
        "channel_rate", fabric.channel_rate, usual.channel_rate,
        "most that one channel carries of a send or receive (NCCL_P2P_PER_CHANNEL_NET_BW); ~: no limit");
    key.optional(
        "proxy_rate", fabric.proxy_rate, std::nullopt,
        "at which a GPU's proxy thread copies what it sends, e.g. 1.6 GB/s; left out: it copies nothing");
    key.optional("efficiency", fabric.efficiency, usual.efficiency,
                 "of the payload rate that links of InfiniBand would reach");
    key.optional("protocols", fabric.protocols, {},
                 "that its environment allows (NCCL_PROTO); left out: all");
    key.optional("algorithms", fabric.algorithms, {}, "of all-reduces, likewise (NCCL_ALGO); left out: all");
    key.optional("error", fabric.error, usual.error,
                 "mean absolute relative error of predictions on machines of this fabric, e.g. 0.2");
    key.optional("provenance", fabric.provenance, {}, "where each of these numbers comes from, by its key");
  }
  /// @throws FieldError
  void check() const;
};

}  // namespace lockstep
