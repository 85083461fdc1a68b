#pragma once

#include <vector>

#include "ops/job.hpp"
#include "ops/program.hpp"
#include "sim/kernel_timing.hpp"
#include "sim/pauses.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {

/// A Program with its kernel durations on one GPU model; shared by all ranks that run it there.
struct CompiledProgram {
  const Program* program = nullptr;
  std::vector<KernelTiming> kernels;     ///< by index into Program::kernels
  std::vector<double> kernel_seconds;    ///< of them, packed
  std::vector<const Instruction*> code;  ///< by thread: its first instruction
  std::vector<Pauses> pauses;            ///< by thread
  /// By thread and instruction: how many launches of compute kernels on one stream follow each other from
  /// there on; kernels that differ between ranks end a row.
  std::vector<std::vector<std::uint32_t>> rows;
  /// By stream: most launches that it can hold which have not started. kUnbounded where the program never
  /// waits for the stream or several threads launch on it.
  std::vector<std::uint32_t> most_queued;
  static constexpr std::uint32_t kUnbounded = ~0U;
};

/// Asks the kernel models once per distinct kernel.
CompiledProgram compile(const Program& program, const GpuSpec& gpu);

}  // namespace lockstep
