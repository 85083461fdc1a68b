#include "import/network_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "import/machine.hpp"
#include "topology/fabric.hpp"

namespace lockstep::importing {
namespace {

using Kind = VertexKind;

/// The tier of each switch, by name: leaves have hosts, spines join leaves, and cores join spines alone.
std::map<std::string, Kind> tiers_of(const Network& network) {
  std::map<std::string, Kind> tiers;
  for (const Network::Port& port : network.ports) {
    tiers[port.leaf] = Kind::LeafSwitch;
  }
  const auto is_leaf = [&](const std::string& name) {
    const auto found = tiers.find(name);
    return found != tiers.end() && found->second == Kind::LeafSwitch;
  };
  std::set<std::string> joined, above_leaves;
  for (const Network::Cable& cable : network.cables) {
    for (const auto& [one, other] : {std::pair{cable.from, cable.to}, std::pair{cable.to, cable.from}}) {
      joined.insert(one);
      if (is_leaf(other)) {
        above_leaves.insert(one);
      }
    }
  }
  for (const auto& [name, at] : network.switches) {
    const bool is_core = joined.contains(name) && !above_leaves.contains(name);
    tiers.try_emplace(name, is_core ? Kind::CoreSwitch : Kind::SpineSwitch);
  }
  return tiers;
}

/// Follows cables from the first port on, since nodes pass nothing on between their ports. @throws InputError
/// at the first node that is not
void expect_connected(const Network& network) {
  std::map<std::string, std::vector<std::string>> beside;
  for (const Network::Cable& cable : network.cables) {
    beside[cable.from].push_back(cable.to);
    beside[cable.to].push_back(cable.from);
  }
  if (network.ports.empty()) {
    return;
  }
  const Network::Port& first = network.ports.front();
  std::set<std::string> reached{first.leaf};
  std::vector<std::string> open{first.leaf};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    for (const std::string& other : beside[name]) {
      if (reached.insert(other).second) {
        open.push_back(other);
      }
    }
  }
  std::set<std::string> joined;
  for (const Network::Port& port : network.ports) {
    if (reached.contains(port.leaf)) {
      joined.insert(port.host);
    }
  }
  for (const Network::Port& port : network.ports) {
    if (!joined.contains(port.host)) {
      throw InputError{port.at,
                       fmt::format("no switches join '{}' below '{}' with '{}' below '{}': give one network, "
                                   "or add the switch above both",
                                   port.host, port.leaf, first.host, first.leaf)};
    }
  }
}

/// Switches of one tier that are drawn.
struct DrawnTier {
  std::size_t count = 0;
  SourceLocation first;  ///< where the first one is
};

}  // namespace

void draw(const Network& network, const std::string& origin, Draft& draft) {
  YamlNode vertices = yaml_node(YamlNode::Kind::Sequence, {}),
           links = yaml_node(YamlNode::Kind::Sequence, {});
  expect_connected(network);
  std::map<std::string, std::string> names;
  std::map<Kind, DrawnTier> tiers;
  const std::map<std::string, Kind> tier_of = tiers_of(network);
  for (const auto& [name, at] : network.switches) {
    DrawnTier& tier = tiers[tier_of.at(name)];
    tier.first = tier.count == 0 ? at : tier.first;
    names[name] = fmt::format("{}{}", to_string(tier_of.at(name)), tier.count++);
  }
  for (const auto& [kind, tier] : tiers) {
    vertices.items.push_back(drawn_row(
        {{"name", to_string(kind)}, {"kind", to_string(kind)}, {"count", std::to_string(tier.count)}},
        tier.first));
  }
  std::map<std::string, std::size_t> next_port;
  const auto device = [&](const Network::Port& port) {
    const auto node = std::ranges::find(network.hosts, port.host) - network.hosts.begin();
    return network.host_has_ports ? fmt::format("node{}.nic{}", node, next_port[port.host]++)
                                  : fmt::format("node{}.nic*", node);
  };
  std::map<std::pair<std::string, std::string>, std::pair<std::string, SourceLocation>>
      rows;  // by leaf and link
  for (const Network::Port& port : network.ports) {
    auto& [members, at] = rows[{names[port.leaf], port.link}];
    members += (members.empty() ? "" : " ") + device(port);
    at = at.file.empty() ? port.at : at;
  }
  for (const auto& [key, row] : rows) {
    links.items.push_back(
        drawn_row({{"connect", row.first}, {"with", key.first}, {"link", key.second}}, row.second));
  }
  for (const Network::Cable& cable : network.cables) {
    std::vector<std::pair<std::string, std::string>> keys{
        {"connect", names[cable.from]}, {"with", names[cable.to]}, {"link", cable.link}};
    if (cable.count > 1) {
      keys.emplace_back("count", std::to_string(cable.count));
    }
    links.items.push_back(drawn_row(keys, cable.at));
  }
  YamlNode shape = yaml_node(YamlNode::Kind::Mapping, {});
  shape.entries.push_back({"shape", {}, yaml_node(YamlNode::Kind::Scalar, {"drawn below", 0, 0}, "none")});
  YamlNode whole = yaml_node(YamlNode::Kind::Mapping, {});
  whole.entries.push_back({"network", {}, std::move(shape)});
  whole.entries.push_back({"vertices", {}, std::move(vertices)});
  whole.entries.push_back({"links", {}, std::move(links)});
  draft.network = std::move(whole);
  draft.network_origin = origin;
  draft.hosts = network.hosts;
}

}  // namespace lockstep::importing
