#include "ops/collectives/link_bundles.hpp"

#include <limits>
#include <map>
#include <utility>

namespace lockstep {
namespace {

constexpr std::uint32_t kAlone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

LinkBundles::LinkBundles(const Fabric& fabric)
    : links_{fabric.links()}, bundle_of_(fabric.links().size(), kAlone) {
  std::map<std::pair<VertexId, VertexId>, std::vector<LinkId>> between;
  for (LinkId link = 0; link < links_.size(); ++link) {
    if (links_[link].kind == LinkKind::NvLink) {
      between[{links_[link].from, links_[link].to}].push_back(link);
    }
  }
  for (auto& [ends, links] : between) {
    if (links.size() < 2) {
      continue;
    }
    Bundle bundle;
    for (const LinkId link : links) {
      bundle.bandwidth += links_[link].bandwidth;
      bundle_of_[link] = static_cast<std::uint32_t>(bundles_.size());
    }
    bundle.links = std::move(links);
    bundles_.push_back(std::move(bundle));
  }
}

void LinkBundles::add(std::vector<double>& load, LinkId link, double share) const {
  if (bundle_of_[link] == kAlone) {
    load[link] += share;
    return;
  }
  const Bundle& bundle = bundles_[bundle_of_[link]];
  for (const LinkId neighbour : bundle.links) {
    load[neighbour] += share * (links_[neighbour].bandwidth / bundle.bandwidth);
  }
}

}  // namespace lockstep
