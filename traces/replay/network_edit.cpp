#include "traces/replay/network_edit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace lockstep::replay {
namespace {

bool is_network(const DrawnLinks& drawn) {
  return drawn.link->kind == LinkKind::Network;
}

bool has_network(const ClusterSpec& cluster) {
  const int nodes = std::accumulate(cluster.nodes.begin(), cluster.nodes.end(), 0,
                                    [](int sum, const NodeGroup& group) { return sum + group.count; });
  return (nodes > 1 && cluster.network.shape != NetworkShape::None) ||
         std::ranges::any_of(cluster.links, is_network);
}

void speed_up(std::optional<Named<LinkSpec>>& link, double factor) {
  if (link) {
    link->value.line_rate = link->value.line_rate * factor;
  }
}

}  // namespace

std::optional<YamlNode> NetworkEdit::long_form(const YamlNode& scalar, const ConfigPath& /*configs*/) {
  YamlNode edit = yaml_node(YamlNode::Kind::Mapping, scalar.at);
  edit.entries.push_back({"faster", scalar.at, scalar});
  return edit;
}

void NetworkEdit::check() const {
  if (!(faster > 0)) {
    throw FieldError{"faster", "must be greater than 0, e.g. 2"};
  }
  if (faster == 1 && !link && !fabric && !nics_per_node && !oversubscription) {
    throw std::invalid_argument{"nothing is changed of the network: say 'faster', e.g. 2, or 'link'"};
  }
}

std::string name_of(const NetworkEdit& edit) {
  std::vector<std::string> parts;
  if (edit.nics_per_node) {
    parts.push_back(fmt::format("with {} NICs a node", *edit.nics_per_node));
  }
  if (edit.link) {
    parts.push_back(fmt::format("of link {}", (*edit.link)->name));
  }
  if (edit.fabric) {
    parts.push_back(fmt::format("over {}", (*edit.fabric)->name));
  }
  if (edit.oversubscription) {
    parts.push_back(fmt::format("{:g} to 1 oversubscribed", *edit.oversubscription));
  }
  if (edit.faster != 1) {
    parts.push_back(fmt::format("{:g} times as fast", edit.faster));
  }
  return fmt::format("network {}", fmt::join(parts, ", "));
}

void change_network(const NetworkEdit& edit, ClusterSpec& cluster) {
  if (!has_network(cluster)) {
    throw std::invalid_argument{"the machine is one node: there is no network between nodes"};
  }
  NetworkSpec& network = cluster.network;
  if (edit.link) {
    network.link = edit.link;
  }
  if (edit.fabric) {
    network.fabric = edit.fabric;
  }
  network.nics_per_node = edit.nics_per_node.value_or(network.nics_per_node);
  network.oversubscription = edit.oversubscription.value_or(network.oversubscription);
  speed_up(network.link, edit.faster);
  for (NodeGroup& group : cluster.nodes) {
    speed_up(group.node.value.network, edit.faster);
  }
  for (DrawnLinks& drawn : cluster.links) {
    if (is_network(drawn)) {
      drawn.link.value.line_rate = drawn.link.value.line_rate * edit.faster;
    }
  }
  network.check();
  cluster.check();
}

}  // namespace lockstep::replay
