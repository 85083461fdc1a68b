#pragma once

#include "sim/executor.hpp"
#include "sim/machine.hpp"

namespace lockstep {

/// Drives @p executor by SimGrid's clock until nothing happens any more: a kernel::resource::Model beside
/// SimGrid's own models answers when the next thing happens and makes it happen. One after another, several
/// executors may run on one machine: the clock goes on, and each counts from the date it began. Errors of the
/// executor propagate.
void run_in_simgrid(Executor& executor, Machine& machine);

/// The same with every host thread as a real s4u::Actor on the host of its socket, and every stream as one on
/// the host of its GPU. An actor suspends when it cannot go on and is resumed by the executor: for users of
/// SimGrid's own tools. Same dates to the last bit.
void run_as_simgrid_actors(Executor& executor, Machine& machine);

/// The same without SimGrid, for many simulations in one process: searches, tests, and the lower bound in
/// bench/.
void run_without_simgrid(Executor& executor);

}  // namespace lockstep
