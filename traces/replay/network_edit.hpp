#pragma once

#include <optional>
#include <string>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep::replay {

/// Another network between the nodes of a replay's machine; `2` stands for `{ faster: 2 }`.
struct NetworkEdit {
  double faster = 1;
  std::optional<Named<LinkSpec>> link;
  std::optional<Named<NetworkFabric>> fabric;
  std::optional<int> nics_per_node;
  std::optional<double> oversubscription;

  template <class Visitor>
  static void describe(Visitor& key, NetworkEdit& edit) {
    key.optional("faster", edit.faster, 1, "bandwidth of its links times this, e.g. 2");
    key.optional("link", edit.link, std::nullopt, "NIC to leaf, a name of configs/links");
    key.optional("fabric", edit.fabric, std::nullopt,
                 "how NCCL sends between nodes, a name of configs/fabrics");
    key.optional("nics_per_node", edit.nics_per_node, std::nullopt, "plugged in; 0: all");
    key.optional("oversubscription", edit.oversubscription, std::nullopt,
                 "bandwidth below a leaf over that above it");
  }

  static std::optional<YamlNode> long_form(const YamlNode& scalar, const ConfigPath& configs);
  void check() const;
};

/// `network 2 times as fast`, `network with 4 NICs a node, of link ndr400`
[[nodiscard]] std::string name_of(const NetworkEdit& edit);

/// The cluster with the network changed, built anew.
/// @throws std::invalid_argument for a cluster without a network, or one that cannot be like that
void change_network(const NetworkEdit& edit, ClusterSpec& cluster);

}  // namespace lockstep::replay
