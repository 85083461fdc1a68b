#include "topology/read_cluster.hpp"

#include <algorithm>

#include "base/yaml_reader.hpp"

namespace lockstep {

ClusterSpec read_cluster(const std::string& text, const ConfigPath& configs) {
  const auto has = [&](const char* kind) { return std::ranges::count(configs.names(kind), text) > 0; };
  const bool one_node = !is_path(text) && !has(ClusterSpec::kConfigKind) && has(NodeSpec::kConfigKind);
  Reading reading{configs};
  Named<ClusterSpec> cluster;
  const YamlNode scalar =
      yaml_node(YamlNode::Kind::Scalar, {"command line", 0, 0}, one_node ? text + " x 1" : text);
  read_value(scalar, "cluster", cluster, reading);
  reading.finish();
  return std::move(cluster.value);
}

}  // namespace lockstep
