#include "ops/collectives/channels.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "ops/collectives/node_exits.hpp"

namespace lockstep {
namespace {

constexpr int kTimesTaken = 2;  // each ring

bool is_over_nvlink(const Fabric& fabric, VertexId from, VertexId to) {
  return std::ranges::all_of(fabric.route(from, to).links,
                             [&](LinkId link) { return fabric.links()[link].kind == LinkKind::NvLink; });
}

}  // namespace

int channel_limit(const Fabric& fabric, std::span<const VertexId> members) {
  if (members.size() < 2) {
    return std::numeric_limits<int>::max();
  }
  const VertexId first = members.front();
  const auto node = [&](VertexId gpu) { return fabric.vertices()[gpu].node; };
  const auto outside = std::ranges::find_if(members, [&](VertexId gpu) { return node(gpu) != node(first); });
  if (outside == members.end()) {
    const bool over_nvlink = std::ranges::any_of(
        members.subspan(1), [&](VertexId other) { return is_over_nvlink(fabric, first, other); });
    return over_nvlink ? std::numeric_limits<int>::max() : kTimesTaken;
  }
  if (is_over_nvlink(fabric, first, *outside)) {
    return std::numeric_limits<int>::max();
  }
  NodeExits exits{fabric};
  std::map<int, std::set<VertexId>> nics;  // by node
  for (const VertexId gpu : members) {
    std::set<VertexId>& here = nics[node(gpu)];
    if (const auto nic = exits.nic_towards(gpu, node(gpu) == node(first) ? *outside : first)) {
      here.insert(*nic);
    }
  }
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const auto& [number, here] : nics) {
    fewest = std::min(fewest, here.size());
  }
  return kTimesTaken * std::max(1, static_cast<int>(fewest));
}

MessageCarrier carrier_of(const Fabric& fabric, std::span<const VertexId> members) {
  const auto node = [&](VertexId gpu) { return fabric.vertices()[gpu].node; };
  return {static_cast<int>(members.size()),
          std::ranges::any_of(members, [&](VertexId gpu) { return node(gpu) != node(members.front()); })};
}

int message_channels(const MessageCarrier& carrier, Bytes size, int all) {
  constexpr Bytes kMostOfOne{16.0 * 1024 * 1024};
  if (carrier.spans_nodes) {
    return kTimesTaken;
  }
  int channels = all;
  while (channels > 1 && std::int64_t{channels} * carrier.members > all) {
    channels /= 2;
  }
  while (channels <= all / 2 && size / channels > kMostOfOne) {
    channels *= 2;
  }
  return channels;
}

}  // namespace lockstep
