#include "ops/collectives/pair_ways.hpp"

#include <algorithm>

#include "ops/collectives/comm_route.hpp"
#include "topology/ecmp.hpp"

namespace lockstep {
namespace {

/// Bytes of a request to read a line of 128 bytes over those of a packet that writes one: 4 of framing, 16 of
/// header and 4 of LCRC, and 128 more. A kernel's loads and stores are lines. Source: PCI Express base
/// specification.
constexpr double kReadRequest = 24.0 / (24 + 128);

/// A machine whose nodes all differ has as many patterns as pairs: no more are kept.
constexpr std::size_t kMostKept = 65'536;

HopClass class_of(const Fabric& fabric, const Route& route) {
  HopClass worst = HopClass::NvLink;
  for (const LinkId link : route.links) {
    const LinkKind kind = fabric.links()[link].kind;
    const HopClass here = kind == LinkKind::NvLink    ? HopClass::NvLink
                          : kind == LinkKind::Network ? HopClass::Network
                                                      : HopClass::Pcie;
    worst = std::max(worst, here);
  }
  return worst;
}

}  // namespace

const PairWay& PairWays::between(VertexId from, VertexId to, std::uint64_t flow) {
  if (!nodes_.has_copies(from) && !nodes_.has_copies(to)) {
    return latest_ = routed(from, to, flow);
  }
  const bool one_node = nodes_.place_of_device(from).node == nodes_.place_of_device(to).node;
  const std::uint64_t key = (std::uint64_t{nodes_.class_of(from)} << 33U) |
                            (std::uint64_t{nodes_.class_of(to)} << 1U) | (one_node ? 1U : 0U);
  const auto known = patterns_.find(key);
  if (known != patterns_.end() && !known->second.is_hashed) {
    place(known->second, from, to);
    return latest_;
  }
  latest_ = routed(from, to, flow);
  if (known == patterns_.end() && patterns_.size() < kMostKept) {
    patterns_.emplace(key, pattern_of(latest_, from, to));
  }
  return latest_;
}

PairWay PairWays::routed(VertexId from, VertexId to, std::uint64_t flow) const {
  const std::uint64_t choices = hashed_choices();
  const Route route = comm_route(fabric_, nvlinks_, from, to, flow);
  PairWay way{class_of(fabric_, route), route.latency, {}};
  if (is_read_from_host_memory(fabric_, nvlinks_, from, to)) {
    way.kind = std::max(way.kind, HopClass::HostMemory);
    add_loads(way, fabric_.route(to, fabric_.host_memory_of(to), flow).links, kReadRequest);
  }
  add_loads(way, route.links, 1);
  way.is_hashed = hashed_choices() != choices;
  return way;
}

/// Links side by side carry what their bandwidth allows.
void PairWays::add_loads(PairWay& way, std::span<const LinkId> links, double requests) const {
  for (const LinkId& link : links) {
    const std::span<const LinkId> bundle = nvlinks_.bundle_of(link);
    if (bundle.size() == 1) {
      way.loads.push_back({link, requests, 1});
      continue;
    }
    BytesPerSecond whole;
    for (const LinkId beside : bundle) {
      whole += fabric_.links()[beside].bandwidth;
    }
    for (const LinkId beside : bundle) {
      way.loads.push_back({beside, requests, fabric_.links()[beside].bandwidth / whole});
    }
  }
}

PairWays::Pattern PairWays::pattern_of(const PairWay& way, VertexId from, VertexId to) const {
  Pattern pattern{way.kind, way.latency, {}, way.is_hashed};
  if (way.is_hashed) {
    return pattern;
  }
  const std::uint32_t sender = nodes_.place_of_device(from).node;
  const std::uint32_t receiver = nodes_.place_of_device(to).node;
  for (const PairLoad& load : way.loads) {
    const AlikeNodes::Place place = nodes_.place_of_link(load.link);
    using enum PlacedLoad::End;
    if (place.node == AlikeNodes::kOutside) {
      pattern.loads.push_back({Outside, place.number, load.requests, load.part});
    } else if (place.node == sender || place.node == receiver) {
      pattern.loads.push_back(
          {place.node == sender ? Sender : Receiver, place.number, load.requests, load.part});
    } else {  // over a third node, which is no image's
      return {way.kind, way.latency, {}, true};
    }
  }
  return pattern;
}

void PairWays::place(const Pattern& pattern, VertexId from, VertexId to) {
  const std::uint32_t sender = nodes_.place_of_device(from).node;
  const std::uint32_t receiver = nodes_.place_of_device(to).node;
  latest_.kind = pattern.kind;
  latest_.latency = pattern.latency;
  latest_.is_hashed = false;
  latest_.loads.clear();
  for (const PlacedLoad& load : pattern.loads) {
    using enum PlacedLoad::End;
    const LinkId link = load.end == Outside  ? load.number
                        : load.end == Sender ? nodes_.link_at(sender, load.number)
                                             : nodes_.link_at(receiver, load.number);
    latest_.loads.push_back({link, load.requests, load.part});
  }
}

}  // namespace lockstep
