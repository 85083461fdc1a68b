#pragma once

#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// What a drawing shows as one line: a link, with the opposite one when that is alike.
struct Cable {
  LinkId link = 0;
  bool both_ways = false;
};

/// All links of @p fabric as cables, in the order of the links.
[[nodiscard]] std::vector<Cable> cables_of(const Fabric& fabric);

}  // namespace lockstep
