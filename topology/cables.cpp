#include "topology/cables.hpp"

#include <map>
#include <tuple>

namespace lockstep {

std::vector<Cable> cables_of(const Fabric& fabric) {
  std::vector<Cable> cables;
  // Cables whose way back has not come yet, by the ends, kind and rates that it would have.
  std::multimap<std::tuple<VertexId, VertexId, LinkKind, BytesPerSecond, Seconds>, std::size_t> waiting;
  for (LinkId id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    const auto found = waiting.find({link.from, link.to, link.kind, link.bandwidth, link.latency});
    if (found != waiting.end()) {
      cables[found->second].both_ways = true;
      cables[found->second].back = id;
      waiting.erase(found);
      continue;
    }
    waiting.emplace(std::tuple{link.to, link.from, link.kind, link.bandwidth, link.latency}, cables.size());
    cables.push_back({id, false, 0});
  }
  return cables;
}

}  // namespace lockstep
