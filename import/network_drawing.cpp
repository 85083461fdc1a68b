#include "import/network_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "import/machine.hpp"

namespace lockstep::importing {

void draw(const Network& network, const std::string& origin, Draft& draft) {
  std::map<std::string, std::vector<const Network::Port*>> by_leaf;
  for (const Network::Port& port : network.ports) {
    by_leaf[port.leaf].push_back(&port);
  }
  YamlNode vertices = yaml_node(YamlNode::Kind::Sequence, {}),
           links = yaml_node(YamlNode::Kind::Sequence, {});
  std::map<std::string, std::string> names;
  std::size_t leaves = 0, spines = 0;
  SourceLocation first_leaf, first_spine;
  for (const auto& [name, at] : network.switches) {
    const bool is_leaf = by_leaf.contains(name);
    names[name] = is_leaf ? fmt::format("leaf{}", leaves) : fmt::format("spine{}", spines);
    SourceLocation& first = is_leaf ? first_leaf : first_spine;
    first = first.file.empty() ? at : first;
    ++(is_leaf ? leaves : spines);
  }
  if (leaves > 0) {
    vertices.items.push_back(
        drawn_row({{"name", "leaf"}, {"kind", "leaf"}, {"count", std::to_string(leaves)}}, first_leaf));
  }
  if (spines > 0) {
    vertices.items.push_back(
        drawn_row({{"name", "spine"}, {"kind", "spine"}, {"count", std::to_string(spines)}}, first_spine));
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
