#pragma once

#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

class Executor;

struct LinkUse {
  LinkId link = 0;
  double bytes = 0;  ///< that passed it over all steps, headers and flags of protocols included
};

/// Bytes on each link that carried anything, of all ranks, simulated or folded; to the last bit the same
/// either way: contributions are added group by group, send by send and copy by copy.
[[nodiscard]] std::vector<LinkUse> link_use(const Executor& executor);

}  // namespace lockstep
