#pragma once

/// @file
/// Networks whose switches are joined to each other and not by spines: which switch has a cable to which.

#include <utility>
#include <vector>

namespace lockstep {

/// Two switches, by number; a pair as often as there are cables.
using SwitchPairs = std::vector<std::pair<int, int>>;

/// A torus: switch (x, y, ...) next to those with one coordinate one more or one less, round in a ring; the
/// last dimension varies fastest. A dimension of 2 has one cable a pair, one of 1 none.
/// Source: W. J. Dally, "Performance analysis of k-ary n-cube interconnection networks", IEEE Transactions on
/// Computers 39(6), 1990.
/// @throws std::invalid_argument unless all dimensions are at least 1
[[nodiscard]] SwitchPairs torus_cables(const std::vector<int>& dimensions);

/// A dragonfly: groups of switches, each joined to each of its group; each switch has @p global_links cables
/// to other groups, dealt so that every two groups have equally many.
/// Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology",
/// ISCA 2008, sec. 3.1 (groups of a switches, h global links each).
/// @throws std::invalid_argument when switches do not divide into groups, or cables into pairs of groups
[[nodiscard]] SwitchPairs dragonfly_cables(int switches, int per_group, int global_links);

}  // namespace lockstep
