#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/measure/experiment.hpp"
#include "calibration/measure/gpu.cuh"

namespace lockstep {

/// Puts one operation, a kernel or several, on a stream.
using Launch = std::function<void(cudaStream_t)>;

/// Whether the operation finds its inputs in L2.
enum class Cache {
  Cold,  ///< flushed before every repeat; a repeat is one launch between two events
  Warm   ///< as earlier repeats left it; a repeat is some 200 us of launches one behind the other, per launch
};

/// Times an operation on the GPU's clock, with the launches queued beforehand: the host's speed does not
/// matter. The time between two events that surround nothing is not subtracted: host_call.csv has it.
[[nodiscard]] std::unique_ptr<Experiment> gpu_experiment(const Gpu& gpu, Cache cache, Launch launch);

/// A repeat is what @p once says it took. @p facts are the cells under the family's facts.
[[nodiscard]] std::unique_ptr<Experiment> timed_by_itself(std::function<Seconds()> once,
                                                          std::vector<std::string> facts = {});

/// The experiment with more cells.
[[nodiscard]] std::unique_ptr<Experiment> with_facts(std::unique_ptr<Experiment> experiment,
                                                     std::vector<std::string> facts);

/// Now, on the host's steady clock.
[[nodiscard]] Seconds host_now();

}  // namespace lockstep
