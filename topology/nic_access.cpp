#include "topology/nic_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "topology/alike_nodes.hpp"
#include "topology/host_memory.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

using LinkIterator = std::vector<LinkId>::const_iterator;

/// The places where @p route leaves the first node and enters the last one: [first, out) leads to a NIC,
/// [in, last) from one. Nothing of either where it passes none.
struct NetworkPart {
  LinkIterator out, in;
  bool passes_nics = false;
};

NetworkPart network_part(const Fabric& fabric, const Route& route) {
  const auto is_nic = [&](VertexId id) { return fabric.vertices()[id].kind == VertexKind::Nic; };
  const auto into_nic =
      std::ranges::find_if(route.links, [&](LinkId link) { return is_nic(fabric.links()[link].to); });
  const auto from_nic = std::find_if(route.links.rbegin(), route.links.rend(),
                                     [&](LinkId link) { return is_nic(fabric.links()[link].from); });
  if (into_nic == route.links.end() || from_nic == route.links.rend()) {
    return {route.links.end(), route.links.end(), false};
  }
  return {into_nic + 1, from_nic.base() - 1, true};
}

/// How far GPU and NIC are, by the links from one to the other.
P2pLevel nic_distance(const Fabric& fabric, LinkIterator first, LinkIterator last) {
  const Route way{{first, last}, {}};
  const auto touches_gpu = [&](LinkId link) {
    const Link& it = fabric.links()[link];
    return fabric.vertices()[it.from].kind == VertexKind::Gpu ||
           fabric.vertices()[it.to].kind == VertexKind::Gpu;
  };
  const bool over_c2c = std::any_of(first, last, [&](LinkId link) {
    return fabric.links()[link].kind == LinkKind::Socket && touches_gpu(link);
  });
  const P2pLevel apart = distance(fabric, way).value_or(P2pLevel::Sys);
  return over_c2c && apart == P2pLevel::Phb ? P2pLevel::Pxb : apart;
}

/// NICs of each node with a link that leaves it.
std::map<int, std::vector<VertexId>> plugged_nics(const Fabric& fabric) {
  std::map<int, std::vector<VertexId>> nics;
  for (VertexId id = 0; id < fabric.vertices().size(); ++id) {
    const Vertex& nic = fabric.vertices()[id];
    if (nic.kind == VertexKind::Nic && std::ranges::any_of(fabric.links_from(id), [&](LinkId link) {
          return fabric.vertices()[fabric.links()[link].to].node != nic.node;
        })) {
      nics[nic.node].push_back(id);
    }
  }
  return nics;
}

/// The distance of the nearest NICs; of several the one that is farthest in NCCL's words.
P2pLevel distance_of_nearest(const Fabric& fabric, VertexId gpu, const std::vector<VertexId>& nics) {
  std::map<Seconds, P2pLevel> nearest;
  for (const VertexId nic : nics) {
    const Route way = fabric.route(gpu, nic);
    const P2pLevel apart = nic_distance(fabric, way.links.begin(), way.links.end());
    P2pLevel& farthest = nearest.try_emplace(way.latency, apart).first->second;
    farthest = std::max(farthest, apart);
  }
  return nearest.begin()->second;
}

void expect_socket(const Fabric& fabric, VertexId gpu) {
  try {
    (void)fabric.host_memory_of(gpu);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{fmt::format(
        "'{}' exchanges with other nodes through host memory, as no NIC is near enough to read and write its "
        "own: {}",
        fabric.vertices()[gpu].name, problem.what())};
  }
}

/// Nodes with one GPU.
std::set<int> nodes_of_one(const Fabric& fabric) {
  std::map<int, int> gpus;
  for (const VertexId gpu : fabric.gpus()) {
    ++gpus[fabric.vertices()[gpu].node];
  }
  std::set<int> nodes;
  for (const auto& [node, count] : gpus) {
    if (count == 1) {
      nodes.insert(node);
    }
  }
  return nodes;
}

bool has_nvlink(const Fabric& fabric, VertexId gpu) {
  return std::ranges::any_of(fabric.links_from(gpu),
                             [&](LinkId id) { return fabric.links()[id].kind == LinkKind::NvLink; });
}

}  // namespace

std::set<int> limit_nics(const Fabric& fabric, std::vector<Vertex>& vertices,
                         std::span<const NicAccess> access, P2pLevel level, std::size_t gpus) {
  const auto nics = plugged_nics(fabric);
  const std::set<int> alone = nodes_of_one(fabric);
  std::set<int> through_memory;
  std::map<std::tuple<std::uint32_t, P2pLevel, P2pLevel>, bool> known;  // by class of GPU: its NICs are far
  for (std::size_t i = 0; i < gpus; ++i) {
    const VertexId gpu = fabric.gpus()[i];
    const auto of_node = nics.find(vertices[gpu].node);
    if (of_node == nics.end()) {
      continue;
    }
    const NicAccess here = i < access.size() ? access[i] : NicAccess::Full;
    const bool reads =
        here == NicAccess::Full || (here == NicAccess::ReadsWithNvLink &&
                                    (has_nvlink(fabric, gpu) || alone.contains(vertices[gpu].node)));
    vertices[gpu].nic_read_level = reads ? level : P2pLevel::Loc;
    vertices[gpu].nic_write_level = here == NicAccess::None ? P2pLevel::Loc : level;
    const auto [is_far, is_new] = known.try_emplace(
        {fabric.alike_nodes().class_of(gpu), vertices[gpu].nic_read_level, vertices[gpu].nic_write_level});
    if (is_new) {
      is_far->second = distance_of_nearest(fabric, gpu, of_node->second) >
                       std::min(vertices[gpu].nic_read_level, vertices[gpu].nic_write_level);
    }
    if (is_far->second) {
      expect_socket(fabric, gpu);
      through_memory.insert(vertices[gpu].node);
    }
  }
  return through_memory;
}

Staging staging_of(const Fabric& fabric, VertexId from, VertexId to, const Route& route) {
  const P2pLevel reads = fabric.vertices()[from].nic_read_level;
  const P2pLevel writes = fabric.vertices()[to].nic_write_level;
  if (reads == P2pLevel::Sys && writes == P2pLevel::Sys) {
    return {};
  }
  const NetworkPart part = network_part(fabric, route);
  return part.passes_nics ? Staging{nic_distance(fabric, route.links.begin(), part.out) > reads,
                                    nic_distance(fabric, part.in, route.links.end()) > writes}
                          : Staging{};
}

Route through_sockets(const Fabric& fabric, VertexId from, VertexId to, const Route& route, Staging staging,
                      std::uint64_t flow) {
  const NetworkPart part = network_part(fabric, route);
  Route way;
  const auto append = [&](const std::vector<LinkId>& links) {
    way.links.insert(way.links.end(), links.begin(), links.end());
  };
  const auto append_staged = [&](VertexId socket, VertexId source, VertexId target) {
    append(fabric.route(source, socket, flow).links);
    append(host_memory_links(fabric, socket));
    append(fabric.route(socket, target, flow).links);
  };
  if (staging.sender) {
    append_staged(fabric.host_memory_of(from), from, fabric.links()[*(part.out - 1)].to);
  } else {
    append({route.links.begin(), part.out});
  }
  append({part.out, part.in});
  if (staging.receiver) {
    append_staged(fabric.host_memory_of(to), fabric.links()[*part.in].from, to);
  } else {
    append({part.in, route.links.end()});
  }
  for (const LinkId link : way.links) {
    way.latency += fabric.links()[link].latency;
  }
  return way;
}

}  // namespace lockstep
