#include "scenario/grown_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "ops/workload/rank_placement.hpp"
#include "scenario/scenario.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep {
namespace {

/// @throws InputError for a cluster that is more than so many nodes of one kind
void check_grows(const ClusterSpec& cluster, const SourceLocation& at) {
  const auto refuse = [&](const std::string& why) {
    throw InputError{at, fmt::format("cluster: {}; only the numbers of GPUs that it has can be looked at: "
                                     "'lockstep plan --gpus'",
                                     why)};
  };
  if (cluster.nodes.empty() || !cluster.vertices.empty() || !cluster.links.empty()) {
    refuse("a machine that is drawn does not grow by itself");
  }
  const NodeGroup& first = cluster.nodes.front();
  const bool are_alike =
      cluster.nodes.size() == 1 || std::ranges::all_of(cluster.nodes, [&](const NodeGroup& group) {
        return !group.node.name.empty() && group.node.name == first.node.name;
      });
  if (!are_alike) {
    refuse("it has several kinds of nodes, and does not say of which there would be more");
  }
  if (cluster.network.shape == NetworkShape::Torus) {
    refuse("a torus has as many nodes as its 'dimensions' say");
  }
}

YamlNode scalar(const SourceLocation& at, std::string text) {
  return yaml_node(YamlNode::Kind::Scalar, at, std::move(text));
}

/// Whether the node is what configs/nodes has under its name, and not changed in part (`from:`).
bool is_as_shipped(const Named<NodeSpec>& node, const ConfigPath& configs) {
  const auto names = configs.names(NodeSpec::kConfigKind);
  return std::ranges::count(names, node.name) > 0 &&
         flow_text(yaml_of(node)) ==
             flow_text(yaml_of(read_file<NodeSpec>(configs.find(NodeSpec::kConfigKind, node.name), configs)));
}

/// `dgx_h100 x 64`, or the node in place where its name does not say it all.
YamlNode group_of(const NodeGroup& group, int count, const SourceLocation& at, const ConfigPath& configs) {
  if (is_as_shipped(group.node, configs)) {
    return scalar(at, fmt::format("{} x {}", group.node.name, count));
  }
  YamlNode made = yaml_node(YamlNode::Kind::Mapping, at);
  made.entries.push_back({"node", at, yaml_of(group.node)});
  made.entries.push_back({"count", at, scalar(at, std::to_string(count))});
  return made;
}

/// Gives the document's cluster @p count nodes, in the words that it has itself.
void set_nodes(YamlDocument& document, const ConfigPath& configs, const NodeGroup& group, int count) {
  const YamlNode written = document.root().find("cluster")->value;
  YamlNode grown = group_of(group, count, written.at, configs);
  const bool is_shorthand = written.kind == YamlNode::Kind::Scalar &&
                            ClusterSpec::long_form(written, configs) && grown.kind == YamlNode::Kind::Scalar;
  if (is_shorthand) {
    document.set("cluster", std::move(grown));
    return;
  }
  YamlNode nodes = yaml_node(YamlNode::Kind::Sequence, written.at);
  nodes.items.push_back(std::move(grown));
  document.set("cluster.nodes", std::move(nodes));
}

int ranks_of(const ScenarioSpec& scenario) {
  return place_ranks(scenario.parallelism, node_sizes(scenario.cluster->fabric())).ranks;
}

}  // namespace

int gpus_of_scenario(const YamlDocument& document, const ConfigPath& configs) {
  return ranks_of(read_document<ScenarioSpec>(document, configs));
}

GrownCluster with_gpus(YamlDocument document, const ConfigPath& configs, int gpus) {
  const auto scenario = read_document<ScenarioSpec>(document, configs);
  const NodeSizes sizes = node_sizes(scenario.cluster->fabric());
  const int of_node = scenario.parallelism.ranks_per_node.value_or(sizes.most);
  if (gpus < 1 || (gpus > of_node && gpus % of_node != 0)) {
    throw std::invalid_argument{fmt::format("{} GPUs: expected whole nodes of {}, e.g. {}", gpus, of_node,
                                            gpus < 1 ? of_node : (gpus + of_node - 1) / of_node * of_node)};
  }
  const int nodes = (gpus + of_node - 1) / of_node;
  if (nodes != sizes.nodes) {
    check_grows(scenario.cluster.value, document.root().find("cluster")->value.at);
    set_nodes(document, configs, scenario.cluster->nodes.front(), nodes);
  }
  document.set("parallelism.ranks", std::to_string(gpus));
  return {std::move(document), nodes, of_node};
}

}  // namespace lockstep
