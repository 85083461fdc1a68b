#pragma once

#include <vector>

#include "ops/job.hpp"
#include "ops/program.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {

/// How a kernel of a Program runs on one GPU model.
struct KernelTiming {
  enum class Kind : std::uint8_t {
    Compute,   ///< occupies its stream for `seconds`
    Transfer,  ///< a copy over PCIe: `seconds` when alone, on a copy engine and the fabric's links
  };
  double seconds = 0;
  double band = 0;       ///< relative, from the kernel model
  bool in_range = true;  ///< asked within the range that the model was checked in
  bool derived = false;  ///< constants from a data sheet or a relative of this GPU
  Kind kind = Kind::Compute;
};

/// A Program with its kernel durations on one GPU model; shared by all ranks that run it there.
struct CompiledProgram {
  const Program* program = nullptr;
  std::vector<KernelTiming> kernels;     ///< by index into Program::kernels
  std::vector<const Instruction*> code;  ///< by thread: its first instruction
  /// By stream: most launches that it can hold which have not started. kUnbounded where the program never
  /// waits for the stream or several threads launch on it.
  std::vector<std::uint32_t> most_queued;
  static constexpr std::uint32_t kUnbounded = ~0U;
};

/// Asks the kernel models once per distinct kernel.
CompiledProgram compile(const Program& program, const GpuSpec& gpu);

}  // namespace lockstep
