#pragma once

#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// A link, with the opposite one when that is alike: a drawing shows them as one line.
struct Cable {
  LinkId link = 0;
  bool both_ways = false;
  LinkId back = 0;  ///< the opposite link, where both_ways
};

/// All links of @p fabric as cables, in the order of the links.
[[nodiscard]] std::vector<Cable> cables_of(const Fabric& fabric);

}  // namespace lockstep
