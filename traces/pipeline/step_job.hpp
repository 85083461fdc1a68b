#pragma once

#include <span>
#include <vector>

#include "ops/job.hpp"
#include "sim/communicator.hpp"
#include "topology/fabric.hpp"
#include "traces/pipeline/step_order.hpp"

namespace lockstep::pipeline {

/// One GPU a worker, each joined to the one switch. Nothing is sent over it: durations are recorded.
[[nodiscard]] Fabric machine_of(std::size_t workers);

/// Collectives of a step's Job only bring their members together: they take no time and no link.
[[nodiscard]] PlanCollective meetings_take_no_time();

/// A step as a Job: worker w on the w-th of @p gpus, a Program each. Every lane is a stream and a host thread
/// that waits (Await) for what its task comes after, lets its delay pass (HostWork), meets the partners
/// (Barrier) and launches a kernel of the task's duration (Timed).
/// @param seconds by operation of the step; a task lasts as long as its longest operation
/// @param with_delays false: tasks begin as soon as they can
[[nodiscard]] Job step_job(const Timeline& timeline, const StepOrder& order, std::span<const double> seconds,
                           bool with_delays, std::span<const VertexId> gpus);

/// Simulated time of the step. Any number of times in one process.
[[nodiscard]] double step_seconds(const Timeline& timeline, const StepOrder& order,
                                  std::span<const double> seconds, bool with_delays);

}  // namespace lockstep::pipeline
