#pragma once

/// @file
/// What the shell that starts the program may lack: open standard streams, room in files, memory.

namespace lockstep {

/// First of all that main() does. Closed standard streams are opened as /dev/null, so that no file of results
/// gets their numbers. A file that grows beyond `ulimit -f` is a failing write, not a signal. An allocation
/// that fails, on whatever thread, cleans up as Ctrl-C does, says so and ends the process with kExitNoMemory.
void prepare_process();

}  // namespace lockstep
