#include "topology/read_cluster.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/suggest.hpp"
#include "base/yaml_reader.hpp"

namespace lockstep {

ClusterSpec read_cluster(const std::string& text, const ConfigPath& configs) {
  const auto has = [&](const char* kind) { return std::ranges::count(configs.names(kind), text) > 0; };
  const bool is_cluster =
      is_path(text) || has(ClusterSpec::kConfigKind) || text.find(' ') != std::string::npos;
  const bool one_node = !is_cluster && has(NodeSpec::kConfigKind);
  if (!is_cluster && !one_node) {
    std::vector<std::string> known = configs.names(ClusterSpec::kConfigKind);
    std::ranges::copy(configs.names(NodeSpec::kConfigKind), std::back_inserter(known));
    throw InputError{
        {"CLUSTER"},
        "there is no '" + text + "' in configs/clusters or configs/nodes" + did_you_mean(text, known)};
  }
  Reading reading{configs};
  Named<ClusterSpec> cluster;
  const YamlNode scalar = yaml_node(YamlNode::Kind::Scalar, {"CLUSTER"}, one_node ? text + " x 1" : text);
  read_value(scalar, "cluster", cluster, reading);
  reading.finish();
  return std::move(cluster.value);
}

}  // namespace lockstep
