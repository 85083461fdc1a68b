#pragma once

#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "ops/program.hpp"
#include "sim/kernel_timing.hpp"
#include "sim/pauses.hpp"

namespace lockstep {

/// A Program with its kernel durations on one GPU model; shared by all ranks that run it there.
struct CompiledProgram {
  const Program* program = nullptr;
  std::vector<KernelTiming> kernels;     ///< by index into Program::kernels
  std::vector<double> kernel_seconds;    ///< of them, packed
  std::vector<const Instruction*> code;  ///< by thread: its first instruction
  std::vector<std::uint32_t> pairs;      ///< sends and receives that all its ranks call, as collectives
  std::vector<Pauses> pauses;            ///< by thread
  /// Lengths of rows, by thread and launch of a compute kernel. A row is the instructions from there on that
  /// launch such kernels on the same stream or only take host time. In a program with copies a difference
  /// between ranks ends a row. Else 0.
  std::vector<std::vector<std::uint32_t>> rows;
  /// Most launches that a stream can hold which have not started. kUnbounded where the program never
  /// waits for the stream or several threads launch on it.
  std::vector<std::uint32_t> most_queued;
  static constexpr std::uint32_t kUnbounded = ~0U;
};

class KnownKernels;

/// Asks the kernel models. @throws std::invalid_argument for a kernel that the GPU cannot run
KernelTiming time_kernel(const KernelCall& call, const GpuSpec& gpu);

/// Asks the kernel models once per distinct kernel. By index into Program::kernels.
/// @throws std::invalid_argument for a kernel that the GPU cannot run
std::vector<KernelTiming> time_kernels(const Program& program, const GpuSpec& gpu);

/// @param known of this GPU model, which is asked first; null: nothing is known
CompiledProgram compile(const Program& program, const GpuSpec& gpu, KnownKernels* known = nullptr);

}  // namespace lockstep
