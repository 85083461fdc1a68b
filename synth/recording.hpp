#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"

namespace lockstep::synth {

/// Sizes that a job's shapes are made of, by name: layers, hidden, batch, ...
using Symbols = std::map<std::string, double>;

/// A job as it was recorded or simulated: what a model is fitted to.
struct Recording {
  Job job;  ///< kernels have shapes where these are known, else Timed
  /// Seconds of each kernel, by program and kernel. Empty: the kernel models time its shape on `gpu`.
  std::vector<std::vector<double>> seconds;
  GpuSpec gpu;               ///< that the kernels ran on; without a name: not known
  bool has_launches = true;  ///< false: durations hold the gaps between kernels
  bool interferes = false;   ///< communication slows down kernels when it is simulated
  std::string cluster;       ///< a shipped machine, `dgx_a100 x 1`; empty: another, or not known
  Symbols labels;            ///< what the user says of its sizes
};

}  // namespace lockstep::synth
