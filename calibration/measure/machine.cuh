#pragma once

#include "calibration/measure/machine_description.hpp"
#include "calibration/measure/machine_limits.hpp"
#include "calibration/measure/nvml.hpp"
#include "calibration/measure/processes.cuh"

namespace lockstep {

/// GPUs that are visible; 0 without a driver.
[[nodiscard]] int visible_gpus();

/// GPUs that each process drives: all, or its share of the node's. @throws CudaError where they do not divide
/// evenly
[[nodiscard]] int gpus_of_each(const Processes& processes);

[[nodiscard]] MachineLimits limits_of(const Processes& processes, int gpus);

/// `0000:04:00.0`
[[nodiscard]] std::string pci_bus_id(int device);

[[nodiscard]] MachineDescription description_of(const MachineLimits& limits, const Nvml& nvml);

}  // namespace lockstep
