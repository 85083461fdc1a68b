#include "topology/alike_gpus.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

/// A link of a GPU as seen from there.
using LinkEnd = std::tuple<VertexId, bool, LinkKind, BytesPerSecond, Seconds>;
using Rights = std::tuple<bool, P2pLevel, P2pLevel, P2pLevel>;

Rights rights_of(const Vertex& gpu) {
  return {gpu.forwards, gpu.p2p_level, gpu.nic_read_level, gpu.nic_write_level};
}

/// The links of each of @p gpus, sorted.
std::vector<std::vector<LinkEnd>> link_ends(const Fabric& fabric, std::span<const VertexId> gpus) {
  constexpr std::uint32_t kOther = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place_of(fabric.vertices().size(), kOther);
  for (std::uint32_t place = 0; place < gpus.size(); ++place) {
    place_of[gpus[place]] = place;
  }
  std::vector<std::vector<LinkEnd>> ends(gpus.size());
  const auto add = [&](VertexId gpu, VertexId other, bool leaves, const Link& link) {
    if (place_of[gpu] != kOther) {
      ends[place_of[gpu]].emplace_back(other, leaves, link.kind, link.bandwidth, link.latency);
    }
  };
  for (const Link& link : fabric.links()) {
    add(link.from, link.to, true, link);
    add(link.to, link.from, false, link);
  }
  std::ranges::for_each(ends, [](std::vector<LinkEnd>& of_gpu) { std::ranges::sort(of_gpu); });
  return ends;
}

}  // namespace

std::vector<std::uint32_t> classes_of_alike(const Fabric& fabric, std::span<const Vertex> vertices,
                                            std::span<const VertexId> gpus) {
  std::vector<std::vector<LinkEnd>> ends = link_ends(fabric, gpus);
  std::map<std::pair<Rights, std::vector<LinkEnd>>, std::uint32_t> known;
  std::vector<std::uint32_t> classes;
  classes.reserve(gpus.size());
  for (std::size_t place = 0; place < gpus.size(); ++place) {
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto entry = known.try_emplace({rights_of(vertices[gpus[place]]), std::move(ends[place])}, next);
    classes.push_back(entry.first->second);
  }
  return classes;
}

}  // namespace lockstep
