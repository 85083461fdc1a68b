#pragma once

/// @file
/// A cluster as the user writes it (docs/topology.md): nodes from presets, a network between them, and
/// whatever is drawn by hand.
///
///   cluster: dgx_a100                           # one node of configs/nodes/dgx_a100.yaml
///   cluster: dgx_a100 x 4                       # 4 nodes of configs/nodes/dgx_a100.yaml, rail-optimised
///   cluster: two_dgx_h100                       # configs/clusters/two_dgx_h100.yaml
///   cluster:
///     nodes: [dgx_a100 x 2, dgx1v x 1]
///     network: { shape: leaf_spine, nodes_per_leaf: 1, oversubscription: 4 }

#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/named.hpp"
#include "base/parameters.hpp"
#include "base/yaml_node.hpp"
#include "topology/drawn.hpp"
#include "topology/fabric.hpp"
#include "topology/network_fabric.hpp"

namespace lockstep {

/// A machine with GPUs (configs/nodes/).
struct NodeSpec {
  static constexpr const char* kConfigKind = "nodes";

  std::string name;
  std::string source;
  std::string gpu;
  std::optional<Named<LinkSpec>> network;
  std::vector<DrawnVertices> vertices;
  std::vector<DrawnLinks> links;

  template <class Visitor>
  static void describe(Visitor& key, NodeSpec& node) {
    key.required("name", node.name, "identifier");
    key.required("source", node.source, "where the wiring comes from");
    key.optional("gpu", node.gpu, "", "a name of configs/gpus: the model of GPUs that say none");
    key.optional("network", node.network, std::nullopt, "a name of configs/links: the ports of its NICs");
    key.required("vertices", node.vertices, "devices");
    key.optional("links", node.links, {}, "between them");
  }

  void check() const;
};

/// So many nodes of one kind; `dgx_a100 x 4`, or `dgx_a100` for one.
struct NodeGroup {
  Named<NodeSpec> node;
  int count = 1;

  template <class Visitor>
  static void describe(Visitor& key, NodeGroup& group) {
    key.required("node", group.node, "a name of configs/nodes, or a node in place");
    key.optional("count", group.count, 1, "how many");
  }

  static std::optional<YamlNode> long_form(const YamlNode& scalar, const ConfigPath& configs);
  void check() const;
};

enum class NetworkShape : std::uint8_t {
  RailOptimised,  ///< NICs of one index share leaves; spines join all leaves
  LeafSpine,      ///< all NICs of a node share a leaf; spines join all leaves
  Torus,          ///< all NICs of a node share a leaf; leaves form a torus
  FatTree,        ///< three tiers: pods of leaves and spines, whose spines core switches join
  Dragonfly,      ///< all NICs of a node share a leaf; leaves form groups, groups are joined pair by pair
  None,           ///< what is drawn by hand
};

constexpr auto names_of(NetworkShape /*unused*/) {
  return std::to_array<EnumName<NetworkShape>>({{NetworkShape::RailOptimised, "rail_optimised"},
                                                {NetworkShape::LeafSpine, "leaf_spine"},
                                                {NetworkShape::Torus, "torus"},
                                                {NetworkShape::FatTree, "fat_tree"},
                                                {NetworkShape::Dragonfly, "dragonfly"},
                                                {NetworkShape::None, "none"}});
}

/// Switches between nodes. Built only when there are several nodes.
struct NetworkSpec {
  NetworkShape shape = NetworkShape::RailOptimised;
  std::optional<Named<NetworkFabric>> fabric;
  std::optional<Named<LinkSpec>> link;
  int nics_per_node = 0;
  int nodes_per_leaf = 0;
  int spines = 1;
  std::vector<int> dimensions;  ///< of a torus
  int leaves_per_group = 0;     ///< of a dragonfly
  int global_links = 1;         ///< of a dragonfly, for each leaf
  int nodes_per_pod = 0;        ///< of a fat tree
  int cores = 1;                ///< of a fat tree
  double pod_oversubscription = 1;
  bool rails = false;  ///< of a fat tree: leaves as of rail_optimised
  double oversubscription = 1;
  Seconds uplink_latency{150e-9};  ///< 130 ns of a QM8700 (data sheet) and 4 m of fibre at 5 ns/m

  template <class Visitor>
  static void describe(Visitor& key, NetworkSpec& network) {
    const NetworkSpec usual;
    key.optional(
        "shape", network.shape, usual.shape,
        "rail_optimised: NICs of one index share leaves, spines join them; leaf_spine: all NICs of a "
        "node share a leaf; fat_tree: pods of leaves and spines below core switches; torus, "
        "dragonfly: leaves joined to each other; none: what is drawn by hand");
    key.optional(
        "fabric", network.fabric, std::nullopt,
        "how NCCL sends between nodes, a name of configs/fabrics: ib, roce, efa, cxi, tcpxo, sockets; "
        "left out: NCCL's own constants, with the widest band");
    key.optional("link", network.link, std::nullopt, "NIC to leaf; default: the ports of each node's NICs");
    key.optional("nics_per_node", network.nics_per_node, usual.nics_per_node,
                 "plugged in, spread evenly over those of a node; 0: all");
    key.optional("nodes_per_leaf", network.nodes_per_leaf, usual.nodes_per_leaf,
                 "0: all nodes, of a fat tree all of a pod; of a torus or dragonfly one");
    key.optional("spines", network.spines, usual.spines,
                 "1 stands for perfectly balanced uplinks; more: ECMP by hash; 0: none (rail-only); of a fat "
                 "tree in each pod");
    key.optional("nodes_per_pod", network.nodes_per_pod, usual.nodes_per_pod, "of a fat tree");
    key.optional("cores", network.cores, usual.cores,
                 "of a fat tree, a multiple of its spines, each of which has its own; 1 stands for perfectly "
                 "balanced uplinks of all spines");
    key.optional("pod_oversubscription", network.pod_oversubscription, usual.pod_oversubscription,
                 "of a fat tree: bandwidth of a spine's links to leaves over that of its links to cores");
    key.optional("rails", network.rails, usual.rails,
                 "of a fat tree: NICs of one index share the leaves of a pod, as of rail_optimised");
    key.optional("dimensions", network.dimensions, {}, "of a torus of leaves, e.g. [4, 4]");
    key.optional("leaves_per_group", network.leaves_per_group, usual.leaves_per_group, "of a dragonfly");
    key.optional("global_links", network.global_links, usual.global_links,
                 "of a dragonfly: cables from each leaf to other groups");
    key.optional("oversubscription", network.oversubscription, usual.oversubscription,
                 "bandwidth of the NICs below a leaf over that of its links to other switches together");
    key.optional("uplink_latency", network.uplink_latency, usual.uplink_latency,
                 "between switches, each direction");
  }

  void check() const;

 private:
  void check_fat_tree() const;
};

struct ClusterSpec {
  static constexpr const char* kConfigKind = "clusters";

  std::string name;
  std::string source;
  std::vector<NodeGroup> nodes;
  NetworkSpec network;
  std::vector<DrawnVertices> vertices;
  std::vector<DrawnLinks> links;

  template <class Visitor>
  static void describe(Visitor& key, ClusterSpec& cluster) {
    key.optional("name", cluster.name, "", "identifier");
    key.optional("source", cluster.source, "", "where the wiring comes from");
    key.optional("nodes", cluster.nodes, {}, "e.g. [dgx_a100 x 4]; numbered from 0 in this order");
    key.optional("network", cluster.network, NetworkSpec{}, "between the nodes");
    key.optional("vertices", cluster.vertices, {}, "devices outside nodes");
    key.optional("links", cluster.links, {}, "between any two devices; those of nodes are called node0.gpu0");
  }

  /// `dgx_a100 x 4`, or `dgx_a100` for one node. A file, and a name of configs/clusters, is no shorthand.
  /// @throws std::invalid_argument for a name that is neither in configs/clusters nor in configs/nodes
  static std::optional<YamlNode> long_form(const YamlNode& scalar, const ConfigPath& configs);

  /// That it can be built, by building it.
  /// @throws FieldError with the key that is wrong; std::invalid_argument as Fabric does
  void check();

  /// The machine. @pre check() has passed, as it has for every spec that was read
  [[nodiscard]] const Fabric& fabric() const& { return built_.value(); }
  [[nodiscard]] Fabric fabric() && { return built_.value(); }

 private:
  std::optional<Fabric> built_;
};

}  // namespace lockstep
