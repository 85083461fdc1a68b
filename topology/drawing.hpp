#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// Properties of a link: both directions alike.
struct Wire {
  LinkKind kind = LinkKind::NvLink;
  BytesPerSecond bandwidth;  ///< of each direction
  Seconds latency;           ///< of each direction
};

/// Most devices, and most cables of one kind: as many as 260,000 GPUs in nodes of eight have. The largest
/// clusters there are have fewer.
/// A number in a file beyond it is a slip, which shall not use up all memory before it is reported.
inline constexpr std::int64_t kMostDrawn = 900'000;

/// A machine while it is being drawn; the Fabric checks the result.
struct Drawing {
  std::vector<Vertex> vertices;
  std::vector<Link> links;

  VertexId add(Vertex vertex) {
    vertices.push_back(std::move(vertex));
    return static_cast<VertexId>(vertices.size() - 1);
  }

  void connect_one_way(VertexId from, VertexId to, const Wire& wire) {
    links.push_back({from, to, wire.kind, wire.bandwidth, wire.latency});
  }

  void connect(VertexId a, VertexId b, const Wire& wire) {
    connect_one_way(a, b, wire);
    connect_one_way(b, a, wire);
  }
};

}  // namespace lockstep
