#include "topology/router.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// The first gates of @p gates that are equally near.
std::span<const Gate> equally_near(std::span<const Gate> gates) {
  const auto end = std::ranges::find_if(gates, [&](const Gate& gate) { return gate.cost != gates[0].cost; });
  return gates.first(static_cast<std::size_t>(end - gates.begin()));
}

std::size_t rail_of(const Vertex& vertex, std::size_t gates) {
  return static_cast<std::size_t>(std::max(vertex.index, 0)) % gates;
}

}  // namespace

Router::Router(std::span<const Vertex> vertices, std::span<const Link> links)
    : vertices_{vertices}, links_{links}, partition_{vertices, links} {}

const std::vector<Gate>& Router::exits(VertexId vertex) const {
  const Place place = partition_.place(vertex);
  return partition_.part(place.part).shape->exits[place.local];
}

const std::vector<Gate>& Router::entries(VertexId vertex) const {
  const Place place = partition_.place(vertex);
  return partition_.part(place.part).shape->entries[place.local];
}

/// The cheapest way between two gates; among equally cheap pairs of links the one that hashes highest.
Router::Crossing Router::crossing(VertexId exit, VertexId entry, const EcmpHash& hash) const {
  const ShortestPaths& outside = partition_.part(0).shape->paths;
  Crossing best;
  const auto weight = [&](const Crossing& c) {
    ++hashed_choices();
    return mixed(hash.message ^ mixed((std::uint64_t{c.up.value_or(0)} << 32U) + c.down.value_or(0)));
  };
  const auto consider = [&](const Crossing& c) {
    if (c.cost < best.cost || (c.cost == best.cost && c.cost != kUnreachable && weight(c) > weight(best))) {
      best = c;
    }
  };
  const auto arrive = [&](Crossing c) {
    const Place target = partition_.place(entry);
    const auto add = [&](std::uint32_t outside_to, PathCost link_cost) {
      const PathCost middle = outside.cost(c.outside_from, outside_to);
      Crossing whole = c;
      whole.outside_to = outside_to;
      whole.cost = middle == kUnreachable ? kUnreachable : c.cost + middle + link_cost;
      consider(whole);
    };
    if (target.part == 0) {
      add(target.local, 0);
      return;
    }
    for (const LinkId down : partition_.entering(entry)) {
      if (const Place from = partition_.place(links_[down].from); from.part == 0) {
        c.down = down;
        add(from.local, cost_of_link(links_[down].latency));
      }
    }
  };
  if (const Place start = partition_.place(exit); start.part == 0) {
    arrive({0, {}, {}, start.local, 0});
    return best;
  }
  for (const LinkId up : partition_.leaving(exit)) {
    const PathCost cost = cost_of_link(links_[up].latency);
    if (links_[up].to == entry && partition_.place(entry).part != 0) {  // a cable from gate to gate
      consider({cost, up, {}, 0, 0});
    } else if (const Place to = partition_.place(links_[up].to); to.part == 0) {
      arrive({cost, up, {}, to.local, 0});
    }
  }
  return best;
}

/// Takes of the nearest entries that can be reached the one on the rail of @p to. A receiver listens at
/// its own NIC, wherever the message comes from (NCCL: ncclTopoGetNetDev in recvSetup, src/transport/net.cc).
std::optional<Router::Way> Router::way_from_exit(VertexId exit, VertexId to, const EcmpHash& hash) const {
  const Part& part = partition_.part(partition_.place(to).part);
  for (std::span<const Gate> gates = entries(to); !gates.empty();) {
    const auto near = equally_near(gates);
    for (std::size_t i = 0; i < near.size(); ++i) {
      const Gate& gate = near[(i + rail_of(vertices_[to], near.size())) % near.size()];
      const VertexId entry = part.vertices[gate.port];
      if (entry == exit) {
        continue;
      }
      const Crossing way = crossing(exit, entry, hash);
      if (way.cost != kUnreachable) {
        return Way{way.cost + gate.cost, exit, entry, way};
      }
    }
    gates = gates.subspan(near.size());
  }
  return std::nullopt;
}

std::optional<Router::Way> Router::way_over(VertexId from, VertexId to, const EcmpHash& hash) const {
  const Part& part = partition_.part(partition_.place(from).part);
  for (std::span<const Gate> gates = exits(from); !gates.empty();) {
    const auto near = equally_near(gates);
    for (std::size_t i = 0; i < near.size(); ++i) {
      const Gate& gate = near[(i + rail_of(vertices_[from], near.size())) % near.size()];
      if (auto way = way_from_exit(part.vertices[gate.port], to, hash)) {
        way->cost += gate.cost;
        return way;
      }
    }
    gates = gates.subspan(near.size());
  }
  return std::nullopt;
}

void Router::append_inside(VertexId from, VertexId to, const EcmpHash& hash,
                           std::vector<LinkId>& links) const {
  const Place start = partition_.place(from);
  const Part& part = partition_.part(start.part);
  const std::size_t before = links.size();
  part.shape->paths.append_path(start.local, partition_.place(to).local, hash,
                                static_cast<std::uint32_t>(before), links);
  for (std::size_t i = before; i < links.size(); ++i) {
    links[i] = part.links[links[i]];
  }
}

std::vector<LinkId> Router::links_of(const Way& way, VertexId from, VertexId to, const EcmpHash& hash) const {
  std::vector<LinkId> links;
  links.reserve(12);
  append_inside(from, way.exit, hash, links);
  const bool cable = way.crossing.up && links_[*way.crossing.up].to == way.entry;
  if (way.crossing.up) {
    links.push_back(*way.crossing.up);
  }
  if (!cable) {
    const Part& outside = partition_.part(0);
    append_inside(outside.vertices[way.crossing.outside_from], outside.vertices[way.crossing.outside_to],
                  hash, links);
  }
  if (way.crossing.down) {
    links.push_back(*way.crossing.down);
  }
  append_inside(way.entry, to, hash, links);
  return links;
}

std::optional<std::vector<LinkId>> Router::route(VertexId from, VertexId to, std::uint64_t flow) const {
  const EcmpHash hash{from, to, flow};
  const Place start = partition_.place(from);
  const Place end = partition_.place(to);
  PathCost inside = kUnreachable;
  if (start.part == end.part) {
    inside = partition_.part(start.part).shape->paths.cost(start.local, end.local);
  }
  const bool outside_nodes = start.part == 0 && end.part == 0;
  if (!outside_nodes && !exits(from).empty() && !entries(to).empty() &&
      exits(from)[0].cost + entries(to)[0].cost < inside) {
    if (const auto way = way_over(from, to, hash); way && way->cost < inside) {
      return links_of(*way, from, to, hash);
    }
  }
  if (inside == kUnreachable) {
    return std::nullopt;
  }
  std::vector<LinkId> links;
  links.reserve(8);
  append_inside(from, to, hash, links);
  return links;
}

std::optional<VertexId> Router::nearest(VertexId from, VertexKind kind) const {
  const Place start = partition_.place(from);
  const Part& part = partition_.part(start.part);
  std::optional<VertexId> best;
  PathCost best_cost = kUnreachable;
  for (std::uint32_t local = 0; local < part.vertices.size(); ++local) {
    const Vertex& candidate = vertices_[part.vertices[local]];
    if (candidate.kind != kind) {
      continue;
    }
    const PathCost cost = part.shape->paths.cost(start.local, local);
    if (cost < best_cost || (best && cost == best_cost && candidate.index < vertices_[*best].index)) {
      best = part.vertices[local];
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace lockstep
