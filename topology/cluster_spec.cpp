#include "topology/cluster_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/suggest.hpp"
#include "topology/drawing.hpp"

namespace lockstep {
namespace {

struct Times {
  std::string word;
  std::string count;  // empty where there is none
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// `dgx_a100 x 4` taken apart.
Times times(const std::string& text) {
  const auto cross = text.rfind(" x ");
  if (cross == std::string::npos) {
    return {trimmed(text), ""};
  }
  Times parts{trimmed(text.substr(0, cross)), trimmed(text.substr(cross + 3))};
  const bool is_number = !parts.count.empty() && std::ranges::all_of(parts.count, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  if (parts.word.empty() || !is_number) {
    throw std::invalid_argument{"expected a kind of node and a number, e.g. dgx_a100 x 4, not '" + text +
                                "'"};
  }
  return parts;
}

/// A name of configs/nodes that no cluster has. @throws std::invalid_argument for a name that neither has
bool is_one_node(const std::string& text, const ConfigPath& configs) {
  std::vector<std::string> known = configs.names(ClusterSpec::kConfigKind);
  if (is_path(text) || std::ranges::count(known, text) > 0) {
    return false;
  }
  const std::vector<std::string> nodes = configs.names(NodeSpec::kConfigKind);
  if (std::ranges::count(nodes, text) > 0) {
    return true;
  }
  known.insert(known.end(), nodes.begin(), nodes.end());
  throw std::invalid_argument{"there is no '" + text + "' in configs/clusters or configs/nodes" +
                              did_you_mean(text, known)};
}

}  // namespace

std::optional<YamlNode> NodeGroup::long_form(const YamlNode& scalar, const ConfigPath& /*configs*/) {
  const Times parts = times(scalar.scalar);
  YamlNode group = yaml_node(YamlNode::Kind::Mapping, scalar.at);
  group.entries.push_back({"node", scalar.at, yaml_node(YamlNode::Kind::Scalar, scalar.at, parts.word)});
  if (!parts.count.empty()) {
    group.entries.push_back({"count", scalar.at, yaml_node(YamlNode::Kind::Scalar, scalar.at, parts.count)});
  }
  return group;
}

void NodeGroup::check() const {
  if (count < 1) {
    throw FieldError{"count", "must be at least 1"};
  }
}

std::optional<YamlNode> ClusterSpec::long_form(const YamlNode& scalar, const ConfigPath& configs) {
  if (times(scalar.scalar).count.empty() && !is_one_node(scalar.scalar, configs)) {
    return std::nullopt;
  }
  YamlNode nodes = yaml_node(YamlNode::Kind::Sequence, scalar.at);
  nodes.items.push_back(scalar);
  YamlNode cluster = yaml_node(YamlNode::Kind::Mapping, scalar.at);
  cluster.entries.push_back({"nodes", scalar.at, std::move(nodes)});
  return cluster;
}

void NodeSpec::check() const {
  Drawing drawing;
  draw_vertices(vertices, drawing);
  draw_links(links, drawing);
  for (std::size_t item = 0; item < vertices.size(); ++item) {
    if (vertices[item].kind == VertexKind::Gpu && vertices[item].model.empty() && gpu.empty()) {
      throw FieldError{"vertices." + std::to_string(item),
                       "a GPU needs a 'model', or the node a 'gpu' (a name of configs/gpus)"};
    }
  }
}

void NetworkSpec::check() const {
  if (nics_per_node < 0) {
    throw FieldError{"nics_per_node", "must not be negative"};
  }
  if (nodes_per_leaf < 0) {
    throw FieldError{"nodes_per_leaf", "must not be negative"};
  }
  if (spines < 0) {
    throw FieldError{"spines", "must not be negative"};
  }
  if (spines > kMostDrawn || global_links > kMostDrawn) {
    throw FieldError{spines > kMostDrawn ? "spines" : "global_links",
                     fmt::format("at most {} switches or cables can be drawn", kMostDrawn)};
  }
  if ((shape == NetworkShape::Torus || shape == NetworkShape::Dragonfly) && spines > 1) {
    throw FieldError{"spines", "a torus and a dragonfly have none: their leaves are joined to each other"};
  }
  if (shape != NetworkShape::Dragonfly && global_links != 1) {
    throw FieldError{"global_links", "only a dragonfly has groups: say shape: dragonfly"};
  }
  if (shape != NetworkShape::Torus && !dimensions.empty()) {
    throw FieldError{"dimensions", "only a torus has dimensions: say shape: torus"};
  }
  if (shape != NetworkShape::Dragonfly && leaves_per_group != 0) {
    throw FieldError{"leaves_per_group", "only a dragonfly has groups: say shape: dragonfly"};
  }
  check_fat_tree();
  if (!(oversubscription > 0)) {
    throw FieldError{"oversubscription", "must be greater than 0, e.g. 2 for 2:1"};
  }
}

void NetworkSpec::check_fat_tree() const {
  const NetworkSpec usual;
  if (shape != NetworkShape::FatTree) {
    const char* const key = nodes_per_pod != usual.nodes_per_pod                 ? "nodes_per_pod"
                            : cores != usual.cores                               ? "cores"
                            : pod_oversubscription != usual.pod_oversubscription ? "pod_oversubscription"
                            : rails                                              ? "rails"
                                                                                 : nullptr;
    if (key != nullptr) {
      throw FieldError{key, "only a fat tree has pods: say shape: fat_tree"};
    }
    return;
  }
  if (nodes_per_pod < 1) {
    throw FieldError{"nodes_per_pod", "a fat tree needs it: nodes below the spines of one pod, e.g. 32"};
  }
  if (nodes_per_leaf > 0 && nodes_per_pod % nodes_per_leaf != 0) {
    throw FieldError{"nodes_per_leaf", fmt::format("must divide the {} nodes of a pod", nodes_per_pod)};
  }
  if (spines < 1) {
    throw FieldError{"spines", "a pod of a fat tree has at least one"};
  }
  if (cores < 1 || cores > kMostDrawn || (cores > 1 && cores % spines != 0)) {
    throw FieldError{"cores",
                     fmt::format("must be 1, or a multiple of the {} spines of a pod, and at most {}", spines,
                                 kMostDrawn)};
  }
  if (!(pod_oversubscription > 0)) {
    throw FieldError{"pod_oversubscription", "must be greater than 0, e.g. 2 for 2:1"};
  }
}

}  // namespace lockstep
