#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "topology/cluster_spec.hpp"
#include "topology/network.hpp"

namespace lockstep {
namespace {

/// One node, its names without the node's number.
Drawing draw_node(const NodeSpec& spec) {
  Drawing drawing;
  draw_vertices(spec.vertices, drawing);
  draw_links(spec.links, drawing);
  for (Vertex& vertex : drawing.vertices) {
    if (vertex.kind == VertexKind::Gpu && vertex.model.empty()) {
      vertex.model = spec.gpu;
    }
  }
  return drawing;
}

/// Copies @p node into @p cluster as node number @p number. Returns where its vertices begin.
VertexId place_node(const Drawing& node, int number, Drawing& cluster) {
  const auto first = static_cast<VertexId>(cluster.vertices.size());
  for (Vertex vertex : node.vertices) {
    vertex.node = number;
    vertex.name = fmt::format("node{}.{}", number, vertex.name);
    cluster.add(std::move(vertex));
  }
  for (Link link : node.links) {
    link.from += first;
    link.to += first;
    cluster.links.push_back(std::move(link));
  }
  return first;
}

/// NICs of @p node in the order of their index.
std::vector<VertexId> nics_of(const Drawing& node) {
  std::vector<VertexId> nics;
  for (VertexId id = 0; id < node.vertices.size(); ++id) {
    if (node.vertices[id].kind == VertexKind::Nic) {
      nics.push_back(id);
    }
  }
  std::ranges::sort(nics, {}, [&](VertexId id) { return node.vertices[id].index; });
  return nics;
}

/// The NICs that are plugged in, spread evenly: of eight on four switches, four are one of each.
std::vector<Port> ports_of(const ClusterSpec& spec, const NodeGroup& group, const Drawing& node) {
  const auto& link = spec.network.link ? spec.network.link : group.node->network;
  const std::vector<VertexId> nics = nics_of(node);
  if (nics.empty()) {
    throw FieldError{"nodes", fmt::format("'{}' has no NIC for the network between nodes", group.node->name)};
  }
  const auto asked = static_cast<std::size_t>(spec.network.nics_per_node);
  if (asked > nics.size()) {
    throw FieldError{"network", fmt::format("nics_per_node: {} are asked for, '{}' has {}", asked,
                                            group.node->name, nics.size())};
  }
  const std::size_t plugged = asked == 0 ? nics.size() : asked;
  std::vector<Port> ports;
  for (std::size_t i = 0; i < plugged; ++i) {
    const VertexId nic = nics[i * nics.size() / plugged];
    ports.push_back({nic, 0, node.vertices[nic].index, link ? (*link)->wire() : Wire{}});
  }
  if (!link) {
    throw FieldError{"network",
                     fmt::format("say the 'link' between NICs and leaves: '{}' has no 'network' of its own",
                                 group.node->name)};
  }
  return ports;
}

Fabric build_cluster(const ClusterSpec& spec) {
  Drawing cluster;
  std::vector<Port> plugged;
  std::int64_t nodes = 0;
  std::int64_t devices = 0;
  std::int64_t links = 0;
  for (const NodeGroup& group : spec.nodes) {
    const Drawing node = draw_node(*group.node);
    nodes += group.count;
    devices += group.count * static_cast<std::int64_t>(node.vertices.size());
    links += group.count * static_cast<std::int64_t>(node.links.size() + 2 * nics_of(node).size());
  }
  if (devices > kMostDrawn) {
    throw FieldError{"nodes", fmt::format("{} nodes have {} devices; a cluster has at most {}", nodes,
                                          devices, kMostDrawn)};
  }
  cluster.vertices.reserve(static_cast<std::size_t>(devices + devices / 8));  // an eighth for switches
  cluster.links.reserve(static_cast<std::size_t>(links + links / 8));
  const bool networked = nodes > 1 && spec.network.shape != NetworkShape::None;
  int number = 0;
  for (const NodeGroup& group : spec.nodes) {
    const Drawing node = draw_node(*group.node);
    const std::vector<Port> ports = networked ? ports_of(spec, group, node) : std::vector<Port>{};
    for (int i = 0; i < group.count; ++i, ++number) {
      const VertexId first = place_node(node, number, cluster);
      for (const Port& port : ports) {
        plugged.push_back({first + port.nic, number, port.rail, port.wire});
      }
    }
  }
  if (networked) {
    draw_network(spec.network, plugged, cluster);
  }
  draw_vertices(spec.vertices, cluster);
  draw_links(spec.links, cluster);
  for (std::size_t item = 0; item < spec.vertices.size(); ++item) {
    if (spec.vertices[item].kind == VertexKind::Gpu && spec.vertices[item].model.empty()) {
      throw FieldError{fmt::format("vertices.{}", item), "a GPU needs a 'model' (a name of configs/gpus)"};
    }
  }
  if (std::ranges::none_of(cluster.vertices, [](const Vertex& v) { return v.kind == VertexKind::Gpu; })) {
    throw std::invalid_argument{"a cluster needs a GPU: give it 'nodes', e.g. [dgx_a100 x 2], or 'vertices'"};
  }
  Fabric built{std::move(cluster.vertices), std::move(cluster.links)};
  return spec.network.fabric
             ? built.with_network(std::make_shared<const NetworkFabric>(**spec.network.fabric))
             : built;
}

/// The machine that was drawn last, which scenarios of one machine share, and processes forked after it.
struct LatestMachine {
  std::mutex mutex;
  ClusterSpec spec;
  std::string text;  ///< of spec; empty until another spec is held against it
  std::optional<Fabric> fabric;
};

/// All that a machine is drawn from.
std::string text_of(const ClusterSpec& spec) {
  return flow_text(yaml_of(spec));
}

/// The latest machine where @p spec draws it, else none is kept; @p text becomes the spec's.
std::optional<Fabric> known_machine(LatestMachine& latest, const ClusterSpec& spec, std::string& text) {
  const std::scoped_lock lock{latest.mutex};
  if (!latest.fabric) {
    return std::nullopt;
  }
  text = text_of(spec);
  if (latest.text.empty()) {
    latest.text = text_of(latest.spec);
  }
  if (text != latest.text) {
    latest.fabric.reset();  // before the next one takes memory
  }
  return latest.fabric;
}

Fabric drawn_once(const ClusterSpec& spec) {
  static LatestMachine latest;
  std::string text;
  if (const std::optional<Fabric> known = known_machine(latest, spec, text)) {
    return *known;
  }
  Fabric fabric = build_cluster(spec);
  const std::scoped_lock lock{latest.mutex};
  latest.fabric = fabric;
  latest.spec = spec;
  latest.text = std::move(text);
  return fabric;
}

}  // namespace

void ClusterSpec::check() {
  built_.reset();
  built_ = drawn_once(*this);
}

}  // namespace lockstep
