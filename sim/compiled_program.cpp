#include "sim/compiled_program.hpp"

#include <algorithm>

#include "ops/kernel_model.hpp"
#include "ops/kernels/host_traffic.hpp"
#include "sim/known_kernels.hpp"

namespace lockstep {
namespace {

/// A copy of nothing is over after its latency, whatever the links carry.
KernelTiming::Kind kind_of(const KernelCall& call) {
  if (host_traffic(call).total() <= Bytes{0}) return KernelTiming::Kind::Compute;
  return std::holds_alternative<Memcpy>(call.work) ? KernelTiming::Kind::Transfer
                                                   : KernelTiming::Kind::HostRows;
}

/// Launches of one thread on one stream, between moments when everything there has started, as far as the
/// thread can tell.
struct Queued {
  std::uint32_t now = 0;
  std::uint32_t most = 0;
  std::uint32_t first = 0;  // until it is drained for the first time
  bool drained = false;

  void drain() {
    first = drained ? first : now;
    most = std::max(most, now);
    now = 0;
    drained = true;
  }
  /// Launches of one step may queue behind those of the step before.
  [[nodiscard]] std::uint32_t most_ever() const {
    return drained ? std::max(most, now + first) : (now == 0 ? 0 : CompiledProgram::kUnbounded);
  }
};

std::vector<Queued> queued_by(const Program::Thread& thread, std::size_t streams) {
  std::vector<Queued> queued(streams);
  for (const Instruction& instruction : thread.instructions) {
    if (instruction.op == Opcode::Launch || instruction.op == Opcode::Collective) {
      ++queued[instruction.stream].now;
    } else if (instruction.op == Opcode::WaitStream) {
      queued[instruction.stream].drain();
    } else if (instruction.op == Opcode::WaitDevice) {
      std::ranges::for_each(queued, &Queued::drain);
    }
  }
  return queued;
}

std::vector<std::uint32_t> most_queued(const Program& program) {
  std::vector<std::uint32_t> most(program.streams.size(), 0);
  for (const Program::Thread& thread : program.threads) {
    const std::vector<Queued> queued = queued_by(thread, most.size());
    for (std::size_t stream = 0; stream < most.size(); ++stream) {
      if (const std::uint32_t here = queued[stream].most_ever(); here > 0) {
        most[stream] = most[stream] == 0 ? here : CompiledProgram::kUnbounded;
      }
    }
  }
  return most;
}

std::vector<std::uint32_t> pairs_of(const Program& program) {
  std::vector<bool> called(program.collectives.size(), false);
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective && !instruction.per_rank) {
        called[instruction.operand] = true;
      }
    }
  }
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t i = 0; i < called.size(); ++i) {
    const CollectiveKind kind = program.collectives[i].kind;
    if (called[i] && (kind == CollectiveKind::Send || kind == CollectiveKind::Receive)) {
      pairs.push_back(i);
    }
  }
  return pairs;
}

bool only_takes_time(Opcode op) {
  return op == Opcode::RangeBegin || op == Opcode::RangeEnd || op == Opcode::HostWork;
}

std::vector<std::uint32_t> rows_of(const Program::Thread& thread, const std::vector<KernelTiming>& kernels) {
  const auto& code = thread.instructions;
  const auto is_compute = [](const KernelTiming& kernel) {
    return kernel.kind == KernelTiming::Kind::Compute;
  };
  const bool all_compute = std::ranges::all_of(kernels, is_compute);
  std::vector<std::uint32_t> rows(code.size(), 0);
  std::uint32_t following = 0;  // instructions that may continue a row on `stream`, or on any if `anywhere`
  std::uint8_t stream = 0;
  bool anywhere = true;
  for (std::size_t i = code.size(); i-- > 0;) {
    if (only_takes_time(code[i].op)) {
      ++following;
      continue;
    }
    const bool computes = code[i].op == Opcode::Launch &&
                          (code[i].per_rank ? all_compute : is_compute(kernels[code[i].operand]));
    if (!computes) {
      following = 0;
      anywhere = true;
      continue;
    }
    following = anywhere || code[i].stream == stream ? following + 1 : 1;
    stream = code[i].stream;
    anywhere = false;
    rows[i] = following;
  }
  return rows;
}

}  // namespace

KernelTiming time_kernel(const KernelCall& call, const GpuSpec& gpu) {
  const Prediction prediction = model_for(call).predict(call, gpu);
  return {.seconds = prediction.duration.in_base_units(),
          .band = prediction.band,
          .in_range = prediction.in_range,
          .fell_back = prediction.fell_back,
          .provenance = prediction.provenance,
          .kind = kind_of(call)};
}

std::vector<KernelTiming> time_kernels(const Program& program, const GpuSpec& gpu) {
  std::vector<KernelTiming> kernels;
  kernels.reserve(program.kernels.size());
  for (const KernelCall& call : program.kernels) {
    kernels.push_back(time_kernel(call, gpu));
  }
  return kernels;
}

CompiledProgram compile(const Program& program, const GpuSpec& gpu, KnownKernels* known) {
  CompiledProgram compiled;
  compiled.program = &program;
  compiled.kernels = known != nullptr ? known->times(program.kernels) : time_kernels(program, gpu);
  for (const KernelTiming& kernel : compiled.kernels) {
    compiled.kernel_seconds.push_back(kernel.seconds);
  }
  for (const Program::Thread& thread : program.threads) {
    compiled.pauses.emplace_back(program, compiled.code.size(), compiled.kernels);
    compiled.rows.push_back(rows_of(thread, compiled.kernels));
    compiled.code.push_back(thread.instructions.data());
  }
  compiled.pairs = pairs_of(program);
  compiled.most_queued = most_queued(program);
  return compiled;
}

}  // namespace lockstep
