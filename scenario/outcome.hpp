#pragma once

/// @file
/// How a command, or a point of a sweep, ends: exit codes, and which exception means which.

#include <functional>
#include <string>

namespace lockstep {

constexpr int kExitOk = 0;
constexpr int kExitBug = 1;          ///< our mistake
constexpr int kExitInput = 2;        ///< the user's
constexpr int kExitStalled = 3;      ///< the simulated program cannot go on
constexpr int kExitOutOfMemory = 4;  ///< the memory of a simulated GPU or host does not hold the job
constexpr int kExitNoMemory = 5;     ///< this machine has not the memory that the simulation needs

/// What is said with kExitNoMemory.
constexpr const char* kNoMemory =
    "not enough memory on this machine for this simulation (or its limit, ulimit -v, is too low): fewer "
    "steps, "
    "ranks or layers need less, and --no-timeline does";

struct Outcome {
  int exit_code = kExitOk;
  std::string message;  ///< for stderr; empty when all went well
};

/// Runs @p action, whose result is the exit code; an exception becomes the exit code and message it means.
[[nodiscard]] Outcome outcome_of(const std::function<int()>& action);

}  // namespace lockstep
