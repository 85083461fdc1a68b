#pragma once

#include <cstdint>
#include <vector>

#include "ops/call_hash.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/intern_table.hpp"
#include "ops/program.hpp"
#include "sim/kernel_timing.hpp"

namespace lockstep {

/// Times of kernels on one GPU model, kept from one simulation to the next: the kernel models are asked once
/// for equal calls.
class KnownKernels {
 public:
  explicit KnownKernels(GpuSpec gpu) : gpu_{std::move(gpu)} {}

  /// Timings by index into @p calls. @throws std::invalid_argument for a kernel that the GPU cannot run
  [[nodiscard]] std::vector<KernelTiming> times(const std::vector<KernelCall>& calls);

  [[nodiscard]] std::uint64_t asked() const { return asked_; }          ///< calls that were looked for
  [[nodiscard]] std::uint64_t predicted() const { return predicted_; }  ///< and those that were not known

 private:
  GpuSpec gpu_;
  InternTable<KernelCall, &hash_of> calls_;
  std::vector<KernelTiming> timings_;  // by number in calls_
  std::uint64_t asked_ = 0, predicted_ = 0;
};

}  // namespace lockstep
