#pragma once

/// @file
/// What a collective costs besides the links: latencies, protocol overheads and what the copying SMs can do.
/// In YAML: configs/profiles/*.yaml.

#include <optional>
#include <string>

#include "base/provenance.hpp"
#include "base/units.hpp"
#include "ops/collectives/comm_choice.hpp"
#include "topology/network_fabric.hpp"

namespace lockstep {

/// One protocol of one algorithm on one class of machines.
struct ProtocolCosts {
  Seconds base;              ///< once a collective
  Seconds nvlink;            ///< each step over NVLink
  Seconds pcie;              ///< each step inside a node that is not over NVLink alone
  Seconds network;           ///< each step between nodes
  double wire_bytes = 1;     ///< bytes on the links for each byte of payload
  double line_fraction = 1;  ///< of the rate the links would allow (the copy loop waits on flags)
  std::optional<BytesPerSecond> max_bus_bandwidth;  ///< out of or into one GPU; none: what the links allow
  std::optional<BytesPerSecond> last_copy;          ///< of the last chunk to its place; none: no time
  std::optional<Seconds> host_memory;               ///< each step through host memory; none: as over PCIe

  template <class Visitor>
  static void describe(Visitor& key, ProtocolCosts& costs) {
    key.required("base", costs.base, "latency of a collective before its first step, e.g. 6.6 us");
    key.required("nvlink", costs.nvlink, "latency of a step over NVLink, e.g. 0.6 us");
    key.required("pcie", costs.pcie, "latency of a step over PCIe, e.g. 1 us");
    key.required("network", costs.network,
                 "latency of a step between nodes over InfiniBand, e.g. 2.7 us; a fabric adds its own");
    key.optional("wire_bytes", costs.wire_bytes, 1.0,
                 "bytes on the links per byte of payload, flags included");
    key.optional("line_fraction", costs.line_fraction, 1.0,
                 "most of the links' rate that the protocol reaches");
    key.optional("max_bus_bandwidth", costs.max_bus_bandwidth, std::nullopt,
                 "most payload that leaves or enters a GPU, e.g. 235 GB/s; left out: what the links allow");
    key.optional("last_copy", costs.last_copy, std::nullopt,
                 "rate at which the last chunk is copied to its place, e.g. 450 GB/s; left out: no time");
    key.optional("host_memory", costs.host_memory, std::nullopt,
                 "latency of a step through host memory (NCCL's SHM), e.g. 2.6 us; left out: as over PCIe");
  }
  /// @throws FieldError
  void check() const;
};

/// Costs of a message between GPUs of a node over NVSwitches.
struct MessageCosts {
  int channels = 1;                  ///< that a GPU has for messages: a power of two
  BytesPerSecond channel_bandwidth;  ///< payload of each

  template <class Visitor>
  static void describe(Visitor& key, MessageCosts& costs) {
    key.required("channels", costs.channels,
                 "NCCL's channels of a GPU for messages, a power of two, e.g. 32");
    key.required("channel_bandwidth", costs.channel_bandwidth,
                 "payload that one channel copies, e.g. 20.4 GB/s");
  }
  /// @throws FieldError
  void check() const;
};

/// The protocols an algorithm may use here; one that is left out is never chosen.
struct AlgorithmCosts {
  std::optional<ProtocolCosts> ll;
  std::optional<ProtocolCosts> ll128;
  std::optional<ProtocolCosts> simple;

  template <class Visitor>
  static void describe(Visitor& key, AlgorithmCosts& costs) {
    key.optional("LL", costs.ll, std::nullopt, "low latency, 4 B flags; ~: not used");
    key.optional("LL128", costs.ll128, std::nullopt, "128 B lines with 8 B flags; ~: not used");
    key.optional("Simple", costs.simple, std::nullopt, "plain copies; ~: not used");
  }
  [[nodiscard]] const std::optional<ProtocolCosts>& of(CommProtocol protocol) const;
};

/// Payload a link carries at best, as a fraction of its bandwidth in the fabric (packet headers, flow
/// control).
struct LinkEfficiency {
  double nvlink = 1;
  double pcie = 1;
  double network = 1;
  double host_memory = 1;

  template <class Visitor>
  static void describe(Visitor& key, LinkEfficiency& efficiency) {
    key.optional("nvlink", efficiency.nvlink, 1.0, "payload rate over NVLink / its bandwidth");
    key.optional("pcie", efficiency.pcie, 1.0, "payload rate over PCIe and between sockets / its bandwidth");
    key.optional("network", efficiency.network, 1.0, "payload rate of the network / its bandwidth");
    key.optional("host_memory", efficiency.host_memory, 1.0,
                 "rate of the sockets' memory / its memory_bandwidth, where GPUs exchange through it");
  }
  void check() const;
};

/// One class of machines.
struct CollectiveProfile {
  static constexpr const char* kConfigKind = "profiles";

  std::string name;
  std::string source;
  LinkEfficiency link_efficiency;
  AlgorithmCosts ring;
  AlgorithmCosts tree;
  AlgorithmCosts direct;
  AlgorithmCosts hierarchical;
  AlgorithmCosts nvls;                         ///< none: the NVSwitches do not add
  AlgorithmCosts nvls_tree;                    ///< likewise, or NCCL is older than 2.18
  AlgorithmCosts pat;                          ///< none: NCCL is older than 2.23
  std::optional<MessageCosts> messages;        ///< none: a message takes what the links allow
  std::optional<NetworkFabric> between_nodes;  ///< of this very machine; none: that of the cluster's network
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, CollectiveProfile& profile) {
    key.required("name", profile.name, "class of machines");
    key.required("source", profile.source, "where the numbers come from");
    key.optional("link_efficiency", profile.link_efficiency, {}, "achieved / nominal rate of the links");
    key.required("ring", profile.ring, "ring: all-reduce, reduce-scatter, all-gather, broadcast, reduce");
    key.required("tree", profile.tree, "double binary tree: all-reduce");
    key.required("direct", profile.direct, "all pairs (and pxn): all-to-all, send, receive");
    key.required("hierarchical", profile.hierarchical, "inside the nodes, then between them");
    key.optional("nvls", profile.nvls, {}, "all-reduce by the NVSwitches; left out: they cannot");
    key.optional("nvls_tree", profile.nvls_tree, {},
                 "all-reduce by the NVSwitches of several nodes and trees between them; left out: not used");
    key.optional("pat", profile.pat, {},
                 "all-gather and reduce-scatter with one GPU a node; left out: not used");
    key.optional("messages", profile.messages, std::nullopt,
                 "channels of send and receive over NVSwitches; left out: what the links allow");
    key.optional("between_nodes", profile.between_nodes, std::nullopt,
                 "how this very machine sends between nodes; left out: as the cluster's network.fabric does");
    key.optional("provenance", profile.provenance, {}, "where each of these numbers comes from, by its key");
  }
  /// @throws FieldError for an algorithm that is always needed and has no protocol, a provenance of what is
  /// no parameter
  void check() const;

  [[nodiscard]] const AlgorithmCosts& of(CommAlgorithm algorithm) const;
};

/// Nothing but the links: no base latency, steps as long as the fabric's routes, every byte at the links'
/// rate. A ring all-reduce alone takes exactly 2(n-1) route latencies + 2(n-1)/n size / bandwidth.
[[nodiscard]] CollectiveProfile ideal_collective_profile();

}  // namespace lockstep
