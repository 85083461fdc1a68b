#pragma once

#include <vector>

#include "ops/job.hpp"
#include "sim/compiled_program.hpp"

namespace lockstep {

/// Process groups that have all links to themselves whenever they exchange anything, by Job::groups.
///
/// A group is such a one if all ranks are in it and each rank orders its calls against everything else that
/// it puts on links: what it issued before has ended when the call begins, and what it issues later begins
/// when the call has ended. A collective meets when its last rank arrives, so nothing of any rank is under
/// way then. The sum of squares for gradient clipping is the usual one: a few bytes after all gradients.
/// @param compiled by rank
[[nodiscard]] std::vector<bool> lone_groups(const Job& job,
                                            const std::vector<const CompiledProgram*>& compiled);

}  // namespace lockstep
