#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/collectives/comm_route.hpp"
#include "ops/collectives/nvlinks.hpp"
#include "ops/collectives/ring_search.hpp"
#include "topology/alike_gpus.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

using Order = std::vector<int>;  ///< positions in a group

/// The fabric's facts about the members, looked up once.
class GroupSite {
 public:
  GroupSite(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members)
      : fabric_{fabric}, nvlinks_{nvlinks}, members_{members} {
    for (std::size_t position = 0; position < members.size(); ++position) {
      position_of_[members[position]] = static_cast<int>(position);
    }
    for (const VertexId member : members) {
      for (const LinkId link : nvlinks.leaving(member)) {
        read_nvlink(fabric.links()[link]);
      }
    }
  }

  [[nodiscard]] bool all_switched(const Order& node) const {
    return std::ranges::all_of(node, [this](int member) { return switched_.contains(member); });
  }
  [[nodiscard]] bool all_switched(const std::vector<Order>& nodes) const {
    return std::ranges::all_of(nodes, [this](const Order& node) { return all_switched(node); });
  }

  /// Some member of @p node has a direct NVLink to another of the group.
  [[nodiscard]] bool has_direct(const Order& node) const {
    return std::ranges::any_of(node, [this](int member) {
      const auto found = direct_.lower_bound({member, 0});
      return found != direct_.end() && found->first.first == member;
    });
  }

  /// The class of each member of @p node; those of one class are equally far from any other (alike_gpus.hpp).
  [[nodiscard]] std::vector<std::uint32_t> classes(const Order& node) const {
    std::vector<VertexId> gpus;
    std::ranges::transform(node, std::back_inserter(gpus), [this](int member) { return vertex(member); });
    return classes_of_alike(fabric_, fabric_.vertices(), gpus);
  }

  /// Bandwidth of direct NVLinks from a to b.
  [[nodiscard]] BytesPerSecond direct(int a, int b) const {
    const auto found = direct_.find({a, b});
    return found == direct_.end() ? BytesPerSecond{0} : found->second;
  }

  [[nodiscard]] Route route(int a, int b) const { return fabric_.route(vertex(a), vertex(b)); }

  /// Latency and links of what a message from a to b takes; through host memory it is further than to any
  /// peer.
  [[nodiscard]] std::tuple<bool, Seconds, std::size_t> distance(int a, int b) const {
    const bool through_memory = is_read_from_host_memory(fabric_, nvlinks_, vertex(a), vertex(b));
    const Route way = through_memory ? comm_route(fabric_, nvlinks_, vertex(a), vertex(b), 0) : route(a, b);
    return {through_memory, way.latency, way.links.size()};
  }

 private:
  [[nodiscard]] VertexId vertex(int position) const { return members_[static_cast<std::size_t>(position)]; }

  void read_nvlink(const Link& link) {
    const int from = position_of_.at(link.from);
    if (fabric_.vertices()[link.to].kind == VertexKind::NvSwitch) {
      switched_.insert(from);
    } else if (const auto to = position_of_.find(link.to); to != position_of_.end()) {
      direct_[{from, to->second}] += link.bandwidth;
    }
  }

  const Fabric& fabric_;
  const NvLinks& nvlinks_;
  std::span<const VertexId> members_;
  std::unordered_map<VertexId, int> position_of_;
  std::set<int> switched_;
  std::map<std::pair<int, int>, BytesPerSecond> direct_;
};

/// The rings through the members of one node, each an order of positions in the group; see lay_out().
/// @param known rings found before, by the links between the members
[[nodiscard]] std::vector<Order> rings_of_node(const GroupSite& site, const Order& node,
                                               std::map<LinkCounts, std::vector<Order>>& known);

}  // namespace lockstep
