#include "ops/collectives/nvlinks.hpp"

#include <algorithm>
#include <tuple>

namespace lockstep {

NvLinks::NvLinks(const Fabric& fabric)
    : vertices_{fabric.vertices()}, links_{fabric.links()}, first_(fabric.vertices().size() + 1, 0) {
  for (LinkId link = 0; link < links_.size(); ++link) {
    if (links_[link].kind == LinkKind::NvLink) {
      sorted_.push_back(link);
      ++first_[links_[link].from + 1];
    }
  }
  for (std::size_t device = 1; device < first_.size(); ++device) {
    first_[device] += first_[device - 1];
  }
  std::ranges::sort(sorted_, {}, [this](LinkId link) {
    return std::tuple{links_[link].from, links_[link].to, link};
  });
}

std::span<const LinkId> NvLinks::leaving(VertexId device) const {
  return vertices_[device].p2p_level == P2pLevel::Loc ? std::span<const LinkId>{} : drawn_from(device);
}

std::span<const LinkId> NvLinks::drawn_from(VertexId device) const {
  return std::span{sorted_}.subspan(first_[device], first_[device + 1] - first_[device]);
}

std::span<const LinkId> NvLinks::bundle_of(const LinkId& link) const {
  if (links_[link].kind != LinkKind::NvLink) {
    return {&link, 1};
  }
  const auto neighbours = drawn_from(links_[link].from);
  const auto end_of = [this](LinkId other) { return links_[other].to; };
  return {std::ranges::lower_bound(neighbours, links_[link].to, {}, end_of),
          std::ranges::upper_bound(neighbours, links_[link].to, {}, end_of)};
}

}  // namespace lockstep
