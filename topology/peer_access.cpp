#include "topology/peer_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include "topology/alike_gpus.hpp"
#include "topology/alike_nodes.hpp"
#include "topology/host_memory.hpp"
#include "topology/kinds.hpp"

namespace lockstep {
namespace {

/// The devices that an NVLink leads to from @p device.
std::set<VertexId> nvlink_neighbours(const Fabric& fabric, VertexId device) {
  std::set<VertexId> neighbours;
  for (const LinkId id : fabric.links_from(device)) {
    if (fabric.links()[id].kind == LinkKind::NvLink) {
      neighbours.insert(fabric.links()[id].to);
    }
  }
  return neighbours;
}

/// Direct NVLinks, or a GPU or switch in between (PATH_NVL, PATH_NVB).
bool are_on_nvlink(const std::set<VertexId>& of_a, const std::set<VertexId>& of_b, VertexId b) {
  return !of_b.empty() && (of_a.contains(b) || std::ranges::any_of(of_a, [&](VertexId between) {
                             return of_b.contains(between);
                           }));
}

bool is_amd(const Fabric& fabric, int node) {
  const auto sockets = fabric.sockets_of(node);
  return !sockets.empty() && std::ranges::all_of(sockets, [&](VertexId socket) {
    return fabric.vertices()[socket].vendor == CpuVendor::Amd;
  });
}

std::size_t used_count(const Fabric& fabric, std::size_t used) {
  return used == 0 ? fabric.gpus().size() : std::min(used, fabric.gpus().size());
}

/// GPUs of each node that the job takes, in rank order.
std::map<int, std::vector<VertexId>> used_gpus(const Fabric& fabric, std::size_t used) {
  std::map<int, std::vector<VertexId>> of_node;
  const auto gpus = fabric.gpus();
  for (std::size_t i = 0; i < used_count(fabric, used); ++i) {
    of_node[fabric.vertices()[gpus[i]].node].push_back(gpus[i]);
  }
  return of_node;
}

P2pLevel level_in(const Fabric& fabric, int node, std::size_t gpus, const PeerAccess& access) {
  if (access.level.p2p) {
    return *access.level.p2p;
  }
  return gpus <= 2 && is_amd(fabric, node) ? P2pLevel::Sys : P2pLevel::Pxb;
}

void expect_sockets(const Fabric& fabric, VertexId from, VertexId to) {
  for (const VertexId gpu : {from, to}) {
    try {
      (void)fabric.host_memory_of(gpu);
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument{
          fmt::format("'{}' and '{}' have no peer access and exchange through host memory: {}",
                      fabric.vertices()[from].name, fabric.vertices()[to].name, problem.what())};
    }
  }
}

bool is_within(const std::optional<P2pLevel>& apart, P2pLevel level) {
  return !apart || *apart <= level;
}

/// Whether routes from @p gpu begin on a network, which levels say nothing of.
bool is_on_network(const Fabric& fabric, VertexId gpu) {
  return std::ranges::all_of(fabric.links_from(gpu),
                             [&](LinkId id) { return fabric.links()[id].kind == LinkKind::Network; });
}

/// Enough of @p gpus that each two alike ones and each two of different classes are in it: two a class.
/// @param limited the vertices with their levels
std::vector<VertexId> two_of_each(const Fabric& fabric, const std::vector<Vertex>& limited,
                                  const std::vector<VertexId>& gpus) {
  constexpr std::size_t kFew = 32;  // whose pairs are quicker looked at than the links of the machine
  if (gpus.size() <= kFew) {
    return gpus;
  }
  const std::vector<std::uint32_t> classes = classes_of_alike(fabric, limited, gpus);
  std::vector<int> taken(gpus.size(), 0);
  std::vector<VertexId> chosen;
  for (std::size_t place = 0; place < gpus.size(); ++place) {
    if (++taken[classes[place]] <= 2) {
      chosen.push_back(gpus[place]);
    }
  }
  return chosen;
}

/// Whether a pair of @p all, the GPUs of one node, has no peer access. @param limited the vertices with their
/// levels
bool needs_host_memory(const Fabric& fabric, const std::vector<Vertex>& limited,
                       const std::vector<VertexId>& all) {
  bool any = false;
  const std::vector<VertexId> gpus = two_of_each(fabric, limited, all);
  std::map<VertexId, std::set<VertexId>> nvlinks;
  for (const VertexId gpu : gpus) {
    nvlinks.emplace(gpu, nvlink_neighbours(fabric, gpu));
  }
  for (const VertexId from : gpus) {
    if (is_on_network(fabric, from)) {
      continue;
    }
    for (const VertexId to : gpus) {
      const P2pLevel level = std::min(limited[from].p2p_level, limited[to].p2p_level);
      if (from == to || level == P2pLevel::Sys ||
          (level > P2pLevel::Loc && are_on_nvlink(nvlinks.at(from), nvlinks.at(to), to)) ||
          is_within(distance(fabric, fabric.route(from, to)), level)) {
        continue;
      }
      expect_sockets(fabric, from, to);
      any = true;
    }
  }
  return any;
}

/// Equal for nodes whose GPUs of the job are peers alike: copies, with those GPUs at the same places and with
/// the same rights.
std::vector<std::uint32_t> key_of_node(const Fabric& fabric, const std::vector<Vertex>& limited,
                                       const std::vector<VertexId>& gpus) {
  std::vector<std::uint32_t> key;
  for (const VertexId gpu : gpus) {
    key.push_back(fabric.alike_nodes().class_of(gpu));
    key.push_back(static_cast<std::uint32_t>(limited[gpu].p2p_level));
  }
  return key;
}

/// The nodes in which a pair of @p used GPUs has no peer access. Nodes that are alike are looked at once.
std::set<int> nodes_without_access(const Fabric& fabric, const std::vector<Vertex>& limited,
                                   const std::map<int, std::vector<VertexId>>& used) {
  std::set<int> nodes;
  std::map<std::vector<std::uint32_t>, bool> known;
  for (const auto& [node, gpus] : used) {
    const auto [entry, is_new] = known.try_emplace(key_of_node(fabric, limited, gpus), false);
    if (is_new) {
      entry->second = needs_host_memory(fabric, limited, gpus);
    }
    if (entry->second) {
      nodes.insert(node);
    }
  }
  return nodes;
}

}  // namespace

Fabric with_peer_access(const Fabric& fabric, const PeerAccess& access) {
  std::vector<Vertex> vertices{fabric.vertices().begin(), fabric.vertices().end()};
  const auto used = used_gpus(fabric, access.gpus_used);
  std::map<int, P2pLevel> levels;
  for (const auto& [node, gpus] : used) {
    levels.emplace(node, level_in(fabric, node, gpus.size(), access));
  }
  for (std::size_t i = 0; i < fabric.gpus().size(); ++i) {
    Vertex& gpu = vertices[fabric.gpus()[i]];
    const auto level = levels.find(gpu.node);
    gpu.p2p_level = level == levels.end() ? level_in(fabric, gpu.node, 0, access) : level->second;
    if (i < access.gpus.size() && !access.gpus[i].over_pcie) {
      gpu.p2p_level = std::min(gpu.p2p_level, P2pLevel::Nvl);
    }
  }
  std::set<int> through_memory = nodes_without_access(fabric, vertices, used);
  if (used.size() > 1) {
    std::vector<NicAccess> nics;
    std::ranges::transform(access.gpus, std::back_inserter(nics), &GpuAccess::nics);
    through_memory.merge(limit_nics(fabric, vertices, nics, access.level.net_gdr.value_or(P2pLevel::Pxb),
                                    used_count(fabric, access.gpus_used)));
  }
  if (through_memory.empty()) {
    return fabric;
  }
  std::vector<Link> links{fabric.links().begin(), fabric.links().end()};
  draw_host_memory(through_memory, vertices, links);
  return Fabric::in_order_of(fabric, std::move(vertices), std::move(links));
}

P2pLevel p2p_level_of(const std::string& word) {
  for (const auto& [level, name] : names_of(P2pLevel{})) {
    if (word == name) {
      return level;
    }
  }
  throw std::invalid_argument{
      fmt::format("'{}' is no p2p_level: {}", word, fmt::join(all_names_of<P2pLevel>(), ", "))};
}

std::optional<P2pLevel> distance(const Fabric& fabric, const Route& route) {
  int switches = 0;
  int sockets = 0;
  bool is_nvlink = true;
  for (const LinkId id : route.links) {
    const Link& link = fabric.links()[id];
    if (link.kind == LinkKind::Network) {
      return std::nullopt;
    }
    is_nvlink = is_nvlink && link.kind == LinkKind::NvLink;
    switches += fabric.vertices()[link.to].kind == VertexKind::PcieSwitch ? 1 : 0;
    sockets += fabric.vertices()[link.to].kind == VertexKind::CpuSocket ? 1 : 0;
  }
  if (is_nvlink && sockets == 0) {
    return P2pLevel::Nvl;
  }
  if (sockets > 0) {
    return sockets > 1 ? P2pLevel::Sys : P2pLevel::Phb;
  }
  return switches > 1 ? P2pLevel::Pxb : P2pLevel::Pix;
}

bool are_peers(const Fabric& fabric, VertexId from, VertexId to, const Route& route) {
  const Vertex& a = fabric.vertices()[from];
  const Vertex& b = fabric.vertices()[to];
  const P2pLevel level = std::min(a.p2p_level, b.p2p_level);
  if (a.node != b.node || level == P2pLevel::Sys) {
    return true;
  }
  return is_within(distance(fabric, route), level);
}

Route through_host_memory(const Fabric& fabric, VertexId from, VertexId to, std::uint64_t flow) {
  const VertexId socket = fabric.host_memory_of(to);
  Route route = fabric.route(from, socket, flow);
  const Route read = fabric.route(socket, to, flow);
  const std::vector<LinkId> memory = host_memory_links(fabric, socket);
  route.links.insert(route.links.end(), memory.begin(), memory.end());
  route.links.insert(route.links.end(), read.links.begin(), read.links.end());
  route.latency += read.latency;
  return route;
}

}  // namespace lockstep
