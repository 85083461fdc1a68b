#pragma once

/// @file
/// Which ranks, groups and links of a job are alike.

#include <cstdint>
#include <vector>

#include "sim/folding/job_traffic.hpp"

namespace lockstep {

/// Classes of one kind of thing, numbered by their first members.
struct Classes {
  std::vector<std::uint32_t> of;     ///< by member: its class
  std::vector<std::uint32_t> first;  ///< by class: the lowest member
  [[nodiscard]] std::size_t count() const { return first.size(); }
};

struct EquitablePartition {
  Classes ranks;
  Classes groups;  ///< of JobTraffic::groups
  Classes links;   ///< of the Fabric
};

/// The coarsest equitable partition that is finer than @p rank_kinds and the links' bandwidths, by colour
/// refinement (Weisfeiler and Leman): everything starts with a colour; in each round a colour is joined with
/// those of its neighbours; it ends when no round tells more apart. Afterwards
///
///   * ranks of a class have, slot by slot, groups of one class, in which they take the same place among the
///     slots, pairs of one class with the same role, and copies over equally many links of each class;
///   * groups of a class have the same collectives, which their members call from the same slots (pairs: from
///     the same places of their programs), equally many members of each rank class, first met in the
///     same order, and, unless they are lone, for each plan the same weights on equally many links of each
///     class;
///   * links of a class have the same bandwidth, and carry the same weights of equally many groups and copies
///     of each class, lone groups aside (TrafficGroup::is_lone).
///
/// Colours are compared by 128-bit digests: the chance that two of 10^6 colours collide is below 10^-26.
///
///   Source  B. Weisfeiler, A. Leman, "The reduction of a graph to canonical form", 1968;
///           C. Godsil, G. Royle, "Algebraic Graph Theory", sec. 9.3 (equitable partitions)
///
/// @param rank_kinds by rank: a number that differs between ranks that are unlike by themselves
/// @param share_links false: nobody shares links, so what else crosses one makes it no different
[[nodiscard]] EquitablePartition equitable_partition(const Job& job, const Fabric& fabric,
                                                     const JobTraffic& traffic,
                                                     const std::vector<std::uint32_t>& rank_kinds,
                                                     bool share_links);

}  // namespace lockstep
