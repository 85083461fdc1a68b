#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "ops/job.hpp"
#include "sim/communicator.hpp"

namespace lockstep {

/// Calls @p visit(group, call) for each collective that members of a process group make together, sends and
/// receives excepted: once for each program and group, in the order of ranks.
template <class Visit>
void for_each_group_call(const Job& job, const Visit& visit) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // program and group
  for (const RankAssignment& rank : job.ranks) {
    const Program& program = *job.programs[rank.program];
    for (std::uint32_t slot = 0; slot < rank.groups.size(); ++slot) {
      if (!seen.emplace(rank.program, rank.groups[slot]).second) {
        continue;
      }
      for (const CollectiveCall& call : program.collectives) {
        if (call.group == slot && !is_pair(call.kind)) {
          visit(rank.groups[slot], call);
        }
      }
    }
  }
}

}  // namespace lockstep
