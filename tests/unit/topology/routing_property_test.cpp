#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <rapidcheck/gtest.h>

#include <map>
#include <queue>
#include <set>

#include "tests/unit/topology/machines.hpp"
#include "topology/path_cost.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;

/// A latency of a few nanoseconds: small numbers, so that many paths cost the same.
Wire some_wire(LinkKind kind) {
  return {kind, *rc::gen::inRange(1, 500) * 1_GBps, *rc::gen::inRange(0, 4) * 100_ns};
}

/// One to four nodes of random wiring around a backbone that keeps them connected, in a random network.
Drawing some_machine() {
  Drawing drawing;
  std::vector<VertexId> switches;
  for (int i = 0; i < *rc::gen::inRange(1, 5); ++i) {
    switches.push_back(drawing.add(device(VertexKind::LeafSwitch, -1, i)));
    drawing.connect(switches.back(),
                    switches[*rc::gen::inRange<std::size_t>(0, switches.size())] == switches.back()
                        ? drawing.add(device(VertexKind::SpineSwitch, -1, i))
                        : switches.front(),
                    some_wire(LinkKind::Network));
  }
  for (std::size_t i = 1; i < switches.size(); ++i) {
    drawing.connect(switches[i], switches[i - 1], some_wire(LinkKind::Network));
  }
  const int nodes = *rc::gen::inRange(1, 5);
  for (int node = 0; node < nodes; ++node) {
    std::vector<VertexId> inside{drawing.add(device(VertexKind::CpuSocket, node, 0))};
    for (int i = 0; i < *rc::gen::inRange(0, 3); ++i) {
      inside.push_back(drawing.add(device(VertexKind::PcieSwitch, node, i)));
      drawing.connect(inside.back(), inside[*rc::gen::inRange<std::size_t>(0, inside.size() - 1)],
                      some_wire(LinkKind::Pcie));
    }
    const std::size_t forwarding = inside.size();
    for (int i = 0; i < *rc::gen::inRange(1, 4); ++i) {
      inside.push_back(drawing.add(gpu(node, i, *rc::gen::inRange(0, 4) == 0)));
      drawing.connect(inside.back(), inside[*rc::gen::inRange<std::size_t>(0, forwarding)],
                      some_wire(LinkKind::Pcie));
    }
    for (int i = 0; i < *rc::gen::inRange(0, 4); ++i) {
      const auto a = inside[*rc::gen::inRange<std::size_t>(0, inside.size())];
      const auto b = inside[*rc::gen::inRange<std::size_t>(0, inside.size())];
      if (a != b) {
        drawing.connect(a, b, some_wire(LinkKind::NvLink));
      }
    }
    for (int i = 0; i < *rc::gen::inRange(1, 3); ++i) {
      const auto nic = drawing.add(device(VertexKind::Nic, node, i));
      drawing.connect(nic, inside[*rc::gen::inRange<std::size_t>(0, forwarding)], some_wire(LinkKind::Pcie));
      drawing.connect(nic, switches[*rc::gen::inRange<std::size_t>(0, switches.size())],
                      some_wire(LinkKind::Network));
    }
  }
  return drawing;
}

/// The cheapest way inside one node, by Dijkstra as in a textbook, independent of the code under test.
PathCost cheapest_inside(const Fabric& fabric, VertexId from, VertexId to) {
  const int node = fabric.vertices()[from].node;
  std::map<VertexId, PathCost> best;
  std::priority_queue<std::pair<PathCost, VertexId>, std::vector<std::pair<PathCost, VertexId>>,
                      std::greater<>>
      open;
  open.emplace(0, from);
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (!best.emplace(vertex, cost).second) {
      continue;
    }
    const Vertex& here = fabric.vertices()[vertex];
    if (vertex != from && here.kind == VertexKind::Gpu && !here.forwards) {
      continue;
    }
    for (const Link& link : fabric.links()) {
      if (link.from == vertex && fabric.vertices()[link.to].node == node) {
        open.emplace(cost + cost_of_link(link.latency), link.to);
      }
    }
  }
  return best.contains(to) ? best.at(to) : kUnreachable;
}

PathCost cost_of(const Fabric& fabric, const Route& route) {
  PathCost cost = 0;
  for (const LinkId link : route.links) {
    cost += cost_of_link(fabric.links()[link].latency);
  }
  return cost;
}

RC_GTEST_PROP(RoutingProperty, RoutesAreContiguousLoopFreeAndRespectWhoForwards, ()) {
  const Fabric fabric = build(some_machine());
  const auto flow = *rc::gen::arbitrary<std::uint64_t>();
  for (const VertexId from : fabric.gpus()) {
    for (const VertexId to : fabric.gpus()) {
      const Route route = fabric.route(from, to, flow);
      std::set<VertexId> visited{from};
      VertexId here = from;
      for (const LinkId id : route.links) {
        const Link& link = fabric.links()[id];
        RC_ASSERT(link.from == here);
        RC_ASSERT(visited.insert(link.to).second);
        const Vertex& vertex = fabric.vertices()[link.to];
        RC_ASSERT(link.to == to || vertex.kind != VertexKind::Gpu || vertex.forwards);
        RC_ASSERT(vertex.node < 0 || vertex.node == fabric.vertices()[from].node ||
                  vertex.node == fabric.vertices()[to].node);
        here = link.to;
      }
      RC_ASSERT(here == to);
    }
  }
}

RC_GTEST_PROP(RoutingProperty, NoRouteInANodeIsLongerThanTheShortestInside, ()) {
  const Fabric fabric = build(some_machine());
  for (const VertexId from : fabric.gpus()) {
    for (const VertexId to : fabric.gpus()) {
      if (from != to && fabric.vertices()[from].node == fabric.vertices()[to].node) {
        const PathCost found = cost_of(fabric, fabric.route(from, to));
        const PathCost inside = cheapest_inside(fabric, from, to);
        RC_ASSERT(found <= inside);
        const Vertex& first_stop =
            fabric.vertices()[fabric.links()[fabric.route(from, to).links.back()].from];
        if (first_stop.node < 0) {
          RC_ASSERT(found < inside);  // the network is only used when it is the shorter way
        }
      }
    }
  }
}

// Every link has a way back alike, hence so has every shortest path inside a node.
RC_GTEST_PROP(RoutingProperty, LatencyInsideANodeIsSymmetric, ()) {
  Drawing drawing = some_machine();
  const Fabric fabric = build(drawing);
  for (const VertexId from : fabric.gpus()) {
    for (const VertexId to : fabric.gpus()) {
      if (fabric.vertices()[from].node == fabric.vertices()[to].node &&
          cheapest_inside(fabric, from, to) == cost_of(fabric, fabric.route(from, to))) {
        RC_ASSERT(cost_of(fabric, fabric.route(from, to)) == cost_of(fabric, fabric.route(to, from)));
      }
    }
  }
}

// The same machine drawn again routes the same; so does a copy whose bandwidths differ.
RC_GTEST_PROP(RoutingProperty, RoutesDependOnLatenciesOnly, ()) {
  Drawing drawing = some_machine();
  const Fabric once = build(drawing);
  for (Link& link : drawing.links) {
    link.bandwidth = link.bandwidth * 0.5;
  }
  const Fabric slower = build(drawing);
  for (const VertexId from : once.gpus()) {
    for (const VertexId to : once.gpus()) {
      RC_ASSERT(once.route(from, to, 7).links == slower.route(from, to, 7).links);
    }
  }
}

}  // namespace
}  // namespace lockstep
