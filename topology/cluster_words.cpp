#include "topology/cluster_words.hpp"

#include <fmt/format.h>

namespace lockstep {

std::string in_words(const Named<ClusterSpec>& cluster) {
  if (!cluster.name.empty()) {
    return cluster.name;
  }
  std::string text;
  for (const NodeGroup& group : cluster->nodes) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", group.node->name,
                        group.count == 1 ? "" : fmt::format(" x {}", group.count));
  }
  return text.empty() ? "the given machine" : text;
}

}  // namespace lockstep
