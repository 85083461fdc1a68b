#pragma once

/// @file
/// Loads of a machine's links over time.

#include <functional>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// Who hears how many bytes a second more (or less) a link carries from a date on, s. Dates do not go back.
using LoadObserver = std::function<void(LinkId link, double more, double date)>;

/// The link carries `rate` bytes a second from `date` on, in seconds.
struct LoadChange {
  double date = 0;
  double rate = 0;
};

struct LinkLoads {
  LinkId link = 0;
  double bytes = 0;                 ///< in all
  std::vector<LoadChange> changes;  ///< in order of time
};

}  // namespace lockstep
