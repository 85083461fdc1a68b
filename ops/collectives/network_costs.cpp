#include "ops/collectives/network_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/collectives/direct.hpp"
#include "ops/collectives/plan_costs.hpp"

namespace lockstep {
namespace {

/// Exponent of times that overlap, but not always: both are spread, and a step waits for the later one.
constexpr double kOverlap = 3;
constexpr double kMostLoops = 8;  // of a ring, beyond which nothing but the longer of both is seen

/// A channel's buffer has 8 steps: a chunk of a ring with Simple takes 4, a message 2 (collectives.h).
constexpr double kChunksOfBuffer = 2;
constexpr double kMessagesOfChunk = 2;
/// Payload of one step of LL's and LL128's buffers (init.cc: 512 threads * 8 lines * 8 of 16 bytes; 640
/// threads * 120 of 128 bytes).
constexpr Bytes kLlStep{32.0 * 1024};
constexpr Bytes kLl128Step{640 * 120 * 8 * 120.0 / 128};
constexpr double kSteps = 8;  // NCCL_STEPS
constexpr Bytes kSmallestLl128Chunk{32.0 * 1024};
constexpr Bytes kSmallestNvlsChunk{32.0 * 1024};
constexpr double kNvlsChannels = 16;
constexpr double kEdgesOfNode = 2;  // an inner node of two trees sends as much as two edges carry
/// At which a proxy thread finds LL's flags in host memory, payload: a line of 16 bytes holds 8.
constexpr BytesPerSecond kFlagsOfProxy{1.2e9};
constexpr double kRingsOfNic = 2;   // connect.cc, "Duplicate channels"
constexpr int kChannelsOfPeer = 2;  // paths.cc, ncclTopoGetNchannels

bool is_ring_of_chunks(const CollectiveRequest& request, CommAlgorithm algorithm) {
  return algorithm == CommAlgorithm::Ring && request.kind != CollectiveKind::Broadcast &&
         request.kind != CollectiveKind::Reduce;
}

/// Kinds that count their handshakes with their messages.
bool is_exchange(CollectiveKind kind) {
  return is_message(kind) || kind == CollectiveKind::AllToAll;
}

/// All members' pieces of one loop of a ring, and how often it goes round.
struct RingLoops {
  double count = 1;
  Bytes message;
  double messages = 1;  ///< a chunk
  double channels = 1;
};

/// A channel has at least so many bytes of a collective: 512 threads (LL128: 640) times a threshold (comm.h).
double channels_for(Bytes size, const GroupLayout& layout, const NetworkPass& pass) {
  const Bytes least = pass.protocol == CommProtocol::Simple   ? Bytes{512.0 * 64}
                      : pass.protocol == CommProtocol::LL128  ? Bytes{640.0 * 8}
                      : pass.algorithm == CommAlgorithm::Ring ? Bytes{512.0 * 8 * layout.members()}
                                                              : Bytes{512.0 * 8};
  return std::clamp(std::floor(size / least), 1.0, static_cast<double>(pass.channels));
}

/// The channels that share a NIC and its proxy thread: NCCL takes each ring twice.
double channels_of_nic(double channels, const NetworkPass& pass) {
  return std::max(1.0, channels * kRingsOfNic / pass.channels);
}

RingLoops loops_of(const CollectiveRequest& request, const GroupLayout& layout, const NetworkPass& pass,
                   const NetworkFabric& fabric) {
  const bool is_simple = pass.protocol == CommProtocol::Simple;
  const Bytes largest = is_simple                              ? fabric.buffer / kChunksOfBuffer
                        : pass.protocol == CommProtocol::LL128 ? kLl128Step
                                                               : kLlStep;
  RingLoops loops;
  loops.channels = channels_for(request.size, layout, pass);
  const Bytes chunk = request.size / (layout.members() * loops.channels);
  loops.count = std::max(1.0, chunk / largest);
  loops.messages = is_simple ? kMessagesOfChunk : 1;
  loops.message = std::min(chunk, largest) / loops.messages;
  return loops;
}

/// The messages that one member's proxy thread sends in an exchange between all pairs.
struct ProxyMessages {
  double count = 0;
  double shaken = 0;  ///< of these: too large to go without a handshake
};

void count_messages(ProxyMessages& messages, Bytes to_peer, double peers, const NetworkFabric& fabric) {
  const double pieces = std::max(1.0, to_peer / fabric.message_size);
  messages.count += peers * pieces;
  if (std::min(to_peer, fabric.message_size) > fabric.eager) {
    messages.shaken += peers * pieces;
  }
}

ProxyMessages messages_of(const CollectiveRequest& request, const GroupLayout& layout,
                          const NetworkFabric& fabric) {
  ProxyMessages most;
  const auto n = static_cast<std::size_t>(layout.members());
  if (request.bytes.empty()) {
    std::size_t smallest = n;
    for (const std::vector<int>& node : layout.nodes) {
      smallest = std::min(smallest, node.size());
    }
    count_messages(most, request.size / static_cast<double>(n), static_cast<double>(n - smallest), fabric);
    return most;
  }
  for (std::size_t src = 0; src < n; ++src) {
    ProxyMessages mine;
    for (std::size_t dst = 0; dst < n; ++dst) {
      const Bytes bytes{request.bytes[src * n + dst]};
      if (layout.node_of[src] != layout.node_of[dst] && bytes > Bytes{0}) {
        count_messages(mine, bytes, 1, fabric);
      }
    }
    most.count = std::max(most.count, mine.count);
    most.shaken = std::max(most.shaken, mine.shaken);
  }
  return most;
}

/// Bytes that a proxy that copies moves for a byte of payload, flags included.
double wire_bytes(CommProtocol protocol) {
  switch (protocol) {
    case CommProtocol::LL:
      return 2;
    case CommProtocol::LL128:
      return 128.0 / 120;
    case CommProtocol::Simple:
      break;
  }
  return 1;
}

Seconds added_latency(const NetworkFabric& fabric, CommProtocol protocol) {
  switch (protocol) {
    case CommProtocol::LL:
      return fabric.latency.ll;
    case CommProtocol::LL128:
      return fabric.latency.ll128;
    case CommProtocol::Simple:
      break;
  }
  return fabric.latency.simple;
}

/// Bytes that all channels of a tree send at once: a step between nodes passes on whole chunks. Those of
/// nvls_tree are smaller for shorter messages (enqueue.cc, calcCollChunking).
Bytes chunks_of_tree(const CollectiveRequest& request, const GroupLayout& layout, const NetworkPass& pass,
                     const NetworkFabric& fabric) {
  if (pass.algorithm == CommAlgorithm::NvlsTree) {
    const double operations = kNvlsChannels * static_cast<double>(layout.nodes.front().size());
    Bytes chunk = fabric.message_size;  // NCCL_NVLS_CHUNKSIZE is the same everywhere
    while (chunk > kSmallestNvlsChunk && request.size < 4 * operations * chunk) {
      chunk = chunk / 2;
    }
    return operations * chunk;
  }
  const Bytes chunk = pass.protocol == CommProtocol::Simple  ? fabric.buffer / kSteps
                      : pass.protocol == CommProtocol::LL128 ? kSmallestLl128Chunk
                                                             : kLlStep;
  return channels_for(request.size, layout, pass) * chunk;
}

/// The GPUs of one node share the channels that lead to another (device.h, ncclP2pChannelBaseForRound).
void limit_pairs(PlanPrice& price, const RoutedTraffic& traffic, const GroupLayout& layout,
                 const NetworkFabric& fabric) {
  if (fabric.channel_rate && traffic.busiest_sender > 0) {
    const auto others = static_cast<double>(layout.nodes.size() - 1);
    price.rate_cap =
        std::min(price.rate_cap, others * kChannelsOfPeer * *fabric.channel_rate / traffic.busiest_sender);
  }
}

/// Overlaps a time with the transfer at full rate.
void overlap(PlanPrice& price, Seconds chain, double loops = 1) {
  const double exponent = kOverlap * std::min(loops, kMostLoops);
  if (!(price.size > Bytes{0})) {
    price.latency += chain;
    return;
  }
  const Seconds links = price.on_links();
  const double longer = std::max(chain, links).in_base_units();
  if (longer > 0) {
    const double ratio = std::min(chain, links).in_base_units() / longer;
    price.latency += Seconds{longer * std::pow(1 + std::pow(ratio, exponent), 1 / exponent)} - links;
  }
}

}  // namespace

bool has_proxy(const NetworkFabric& fabric) {
  return fabric.post > Seconds{0} || fabric.message > Seconds{0};
}

ProtocolCosts costs_between_nodes(ProtocolCosts costs, const CollectiveRequest& request,
                                  const GroupLayout& layout, const NetworkPass& pass,
                                  const NetworkFabric& fabric) {
  const bool is_simple = pass.protocol == CommProtocol::Simple;
  costs.network += added_latency(fabric, pass.protocol);
  if (!is_ring_of_chunks(request, pass.algorithm)) {
    const double channels = channels_for(request.size, layout, pass);
    if (request.size * costs.wire_bytes / channels > fabric.eager && !is_exchange(request.kind)) {
      costs.network += fabric.handshake * channels_of_nic(channels, pass);
    }
    return costs;
  }
  const Seconds post = fabric.post * (pass.protocol == CommProtocol::LL ? 1.0 : 3.0);
  costs.nvlink = std::max(costs.nvlink, post);
  costs.pcie = std::max(costs.pcie, post);
  if (costs.host_memory) {
    costs.host_memory = std::max(*costs.host_memory, post);
  }
  costs.last_copy.reset();  // of one loop's chunk: nothing beside the steps
  const RingLoops loops = loops_of(request, layout, pass, fabric);
  const double posted = loops.messages * channels_of_nic(loops.channels, pass);  // by a NIC's proxy, at once
  if (posted * loops.message * costs.wire_bytes > fabric.eager) {
    costs.network += fabric.handshake * (2 * posted);  // sent and received
  }
  if (is_simple) {
    for (Seconds* time : {&costs.base, &costs.nvlink, &costs.pcie, &costs.network}) {
      *time = *time * fabric.ring_slowdown;
    }
    if (costs.host_memory) {
      costs.host_memory = *costs.host_memory * fabric.ring_slowdown;
    }
  }
  return costs;
}

void charge_network(PlanPrice& price, const CollectiveRequest& request, const RoutedTraffic& traffic,
                    const GroupLayout& layout, const NetworkPass& pass, const NetworkFabric& fabric) {
  if (!has_proxy(fabric)) {
    return;
  }
  const double sent = traffic.busiest_sender;
  if (fabric.proxy_rate && sent > 0) {
    price.rate_cap = std::min(price.rate_cap, *fabric.proxy_rate / (wire_bytes(pass.protocol) * sent));
  }
  if (is_message(request.kind)) {
    price.channels = kChannelsOfPeer;
    if (fabric.channel_rate) {
      price.rate_cap = std::min(price.rate_cap, price.channels * *fabric.channel_rate);
    }
    const double pieces = std::max(1.0, request.size / fabric.message_size);
    const bool shakes = std::min(request.size, fabric.message_size) > fabric.eager;
    overlap(price, pieces * (fabric.message + (shakes ? fabric.handshake : Seconds{0})) / price.channels);
    return;
  }
  if (pass.protocol == CommProtocol::LL && sent > 0) {
    price.rate_cap = std::min(price.rate_cap, kFlagsOfProxy / sent);
  }
  if (is_ring_of_chunks(request, pass.algorithm)) {
    const RingLoops loops = loops_of(request, layout, pass, fabric);
    const double steps = pass.steps.within_nodes + pass.steps.between_nodes;
    const double on_links = pass.steps.between_nodes / (steps * loops.messages);
    const Seconds chain = loops.count * price.latency + on_links * price.on_links();
    price.latency = Seconds{0};
    overlap(price, chain, loops.count);
    return;
  }
  const bool is_tree = pass.algorithm == CommAlgorithm::Tree || pass.algorithm == CommAlgorithm::NvlsTree;
  if (is_tree && pass.protocol != CommProtocol::LL && request.size > Bytes{0}) {
    const Bytes chunks = chunks_of_tree(request, layout, pass, fabric);
    const double of_links =
        std::min(1.0, chunks / request.size) / (layout.nodes.size() > 2 ? kEdgesOfNode : 1);
    price.latency += pass.steps.between_nodes * of_links * price.on_links();
    return;
  }
  if (pass.algorithm == CommAlgorithm::Direct || pass.algorithm == CommAlgorithm::Pxn) {
    limit_pairs(price, traffic, layout, fabric);
    const ProxyMessages messages = messages_of(request, layout, fabric);
    overlap(price, messages.count * fabric.message + messages.shaken * fabric.handshake);
  }
}

bool is_allowed(const NetworkFabric& fabric, const CollectiveRequest& request, CommAlgorithm algorithm,
                CommProtocol protocol) {
  const auto allows = [](const std::vector<std::string>& words, std::string_view name) {
    return words.empty() || std::ranges::find(words, name) != words.end();
  };
  const bool is_named =
      request.kind != CollectiveKind::AllReduce || allows(fabric.algorithms, name_of(algorithm));
  return is_named && allows(fabric.protocols, name_of(protocol));
}

}  // namespace lockstep
