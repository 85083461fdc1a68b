#pragma once

#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// NVLinks side by side between the same two devices. The hardware interleaves one message over all of them
/// (by address), so a route over one of them loads them all.
class LinkBundles {
 public:
  explicit LinkBundles(const Fabric& fabric);

  /// Adds @p share to @p link, or to it and its neighbours in proportion to their bandwidths.
  void add(std::vector<double>& load, LinkId link, double share) const;

 private:
  struct Bundle {
    std::vector<LinkId> links;
    BytesPerSecond bandwidth;  ///< of all
  };

  std::span<const Link> links_;
  std::vector<Bundle> bundles_;           // of more than one link
  std::vector<std::uint32_t> bundle_of_;  // by link: index into bundles_, or kAlone
};

}  // namespace lockstep
