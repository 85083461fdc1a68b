#include "topology/read_cluster.hpp"

#include "base/yaml_reader.hpp"

namespace lockstep {

ClusterSpec read_cluster(const std::string& text, const ConfigPath& configs) {
  Reading reading{configs};
  Named<ClusterSpec> cluster;
  read_value(yaml_node(YamlNode::Kind::Scalar, {"CLUSTER"}, text), "", cluster, reading);
  reading.finish();
  return std::move(cluster.value);
}

}  // namespace lockstep
