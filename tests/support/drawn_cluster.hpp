#pragma once

#include <string>

#include "base/yaml_reader.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep::testing {

/// A file with a cluster and nothing else.
struct ClusterFile {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, ClusterFile& file) {
    key.required("cluster", file.cluster, "the machine");
  }
};

/// The machine that @p cluster says, as in a scenario: `dgx_a100 x 2`, or `{ nodes: [...], network: ... }`.
inline Fabric drawn_cluster(const std::string& cluster) {
  return read_text<ClusterFile>("cluster: " + cluster, "test.yaml").cluster->fabric();
}

/// The link of that name. @return null where there is none
inline const Link* find_link(const Fabric& fabric, const std::string& name) {
  for (LinkId id = 0; id < fabric.links().size(); ++id) {
    if (fabric.name_of(id) == name) {
      return &fabric.links()[id];
    }
  }
  return nullptr;
}

}  // namespace lockstep::testing
