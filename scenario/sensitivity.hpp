#pragma once

/// @file
/// What more of a resource would buy: the same job simulated on machines that differ in one thing.

#include <string>
#include <vector>

#include "scenario/prediction.hpp"

namespace lockstep {

/// A simulation with 10 % more of one resource.
struct ImprovedStep {
  std::string resource;
  double step_time = 0;  ///< s
  std::string failure;   ///< why there is none; empty otherwise
};

struct ResourceGain {
  std::string resource;
  double step_time = 0;  ///< s, with 10 % more of it
  double gain = 0;       ///< share of the step time that goes away; negative where the step gets longer
};
using Sensitivity = std::vector<ResourceGain>;  ///< largest gain first

/// Simulates the job with 10 % more of each resource that it has, in forked processes:
///
///   compute peak               dense peaks of all types
///   memory bandwidth           DRAM of the GPUs
///   NVLink bandwidth           and what collectives were measured to reach over it (max_bus_bandwidth)
///   PCIe bandwidth             and the rates of copies between host and GPU
///   socket link bandwidth      UPI, xGMI
///   NIC bandwidth              what begins or ends at a NIC outside of its node
///   uplink bandwidth           between switches of the network
///   host and launch overhead   10 % less: host times, launch latency, gaps between kernels
///
/// A class of links that the machine does not have is left out.
/// @param resolved only the children change theirs
/// @param jobs processes at a time
/// @pre the process has one thread (app/forked_tasks.hpp)
[[nodiscard]] std::vector<ImprovedStep> improved_steps(ResolvedScenario& resolved, int jobs);

/// @param step as it is without improvements
/// @throws std::runtime_error where one could not be simulated although the scenario itself could
[[nodiscard]] Sensitivity gains_over(Seconds step, const std::vector<ImprovedStep>& improved);

}  // namespace lockstep
