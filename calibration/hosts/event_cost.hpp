#pragma once

#include <span>

#include "base/units.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep {

/// Time that the profiler added to each operator and runtime call of recorded steps. It is known from how
/// long such a step takes without the profiler:
///
///   cost = (mean length of the recorded steps - @p step_time) / events of a step
///
/// over all threads, since those of a step take turns (main waits for autograd's). *Assumes* that the host
/// decides both lengths, as in steps of few samples: where the GPU holds a step up there is less between
/// them. *Source*: an H200's host, GPT-2 with one sample (calibration/measurements, 27 November 2026): 56.5
/// ms recorded, 23.6 without, 7,470 events: 4.4 us each, where a faster CPU takes 2.
/// @throws InputError where a trace has no steps (`profiler.step()`), or they are no longer than @p step_time
[[nodiscard]] Seconds event_cost_of(std::span<const kineto::RecordedTrace> traces, Seconds step_time);

}  // namespace lockstep
