#pragma once

#include <cstddef>
#include <vector>

#include "sim/link_loads.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

struct LinkLoadLimits {
  std::size_t links = 16;            ///< that are shown
  std::size_t recorded = 1'000'000;  ///< changes in memory
  std::size_t shown = 100'000;       ///< changes of all links that are shown
};

/// Collects the loads of the busiest links within limits. Above the changes that may be recorded, the less
/// busy half of the links is left out; once only those are left that are shown, pairs of neighbouring changes
/// become their mean.
class LinkLoadRecorder {
 public:
  explicit LinkLoadRecorder(const Fabric& fabric, const LinkLoadLimits& limits = {});

  /// Called as a LoadObserver.
  void add(LinkId link, double more, double date);

  /// The busiest links between @p from and @p until, s, the busiest first: at most as many as are shown, and
  /// none that is idle. Changes before @p from become one at @p from; the last one is at @p until, when all
  /// is idle.
  [[nodiscard]] std::vector<LinkLoads> busiest(double from, double until) const;

 private:
  void leave_out();

  LinkLoadLimits limits_;
  std::size_t changes_ = 0;
  std::vector<LinkLoads> loads_;       ///< by place
  std::vector<std::size_t> place_of_;  ///< by link; beyond loads_: left out
  std::vector<double> least_;          ///< by link: a rate below it is rounding, bytes a second
};

}  // namespace lockstep
