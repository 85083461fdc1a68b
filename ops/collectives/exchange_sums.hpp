#pragma once

#include <vector>

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// The traffic of an all-to-all, even or uneven, of a group that is too large for all its pairs: every member
/// sends and receives inside its node what it does, pair by pair, and between nodes as much as it does in
/// all, to members of at most 32 nodes that are spread evenly over the others. What GPUs and NICs carry is
/// exact; what leaves and spines do is a sample.
///
/// @param relayed by the members at the NICs of the receivers' rails (GroupLayout::relay_of)
[[nodiscard]] std::vector<ChannelEdge> exchange_by_sums(const CollectiveRequest& request,
                                                        const GroupLayout& layout, bool relayed);

}  // namespace lockstep
