#pragma once

#include <functional>

#include "sim/executor.hpp"
#include "sim/machine.hpp"

namespace lockstep {

/// Drives @p executor by SimGrid's clock until nothing happens any more: a kernel::resource::Model beside
/// SimGrid's own models answers when the next thing happens and makes it happen. Errors of the executor
/// propagate.
void run_in_simgrid(Executor& executor, Machine& machine);

/// The same with every host thread and every stream as a real s4u::Actor on its GPU's host, which suspends
/// when it cannot go on and is resumed by the executor: for users of SimGrid's own tools. Same dates to the
/// last bit.
void run_as_simgrid_actors(Executor& executor, Machine& machine);

/// The same without SimGrid: the lower bound in bench/, and tests that need many runs in one process.
void run_without_simgrid(Executor& executor);

}  // namespace lockstep
