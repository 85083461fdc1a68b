#pragma once

#include <string>

#include "base/named.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep {

/// `two_dgx_a100`, `dgx_a100 x 4`, `dgx_a100 x 2, dgx1v`; `the given machine` for one without names.
[[nodiscard]] std::string in_words(const Named<ClusterSpec>& cluster);

}  // namespace lockstep
