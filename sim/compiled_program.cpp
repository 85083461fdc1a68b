#include "sim/compiled_program.hpp"

#include <algorithm>

#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

bool crosses_pcie(const KernelCall& call) {
  const auto* copy = std::get_if<Memcpy>(&call.work);
  return copy != nullptr && copy->path != Memcpy::Path::DeviceToDevice;
}

bool launches_on(const Instruction& instruction, std::uint8_t stream) {
  return (instruction.op == Opcode::Launch || instruction.op == Opcode::Collective) &&
         instruction.stream == stream;
}

/// Afterwards everything on the stream has started, as far as the thread can tell.
bool drains(const Instruction& instruction, std::uint8_t stream) {
  return instruction.op == Opcode::WaitDevice ||
         (instruction.op == Opcode::WaitStream && instruction.stream == stream);
}

/// Two steps of a thread, because launches of one may queue behind those of the step before.
std::uint32_t most_queued(const Program::Thread& thread, std::uint8_t stream) {
  std::uint32_t most = 0;
  std::uint32_t queued = 0;
  bool drained = false;
  for (int step = 0; step < 2; ++step) {
    for (const Instruction& instruction : thread.instructions) {
      queued += launches_on(instruction, stream) ? 1 : 0;
      most = std::max(most, queued);
      if (drains(instruction, stream)) {
        queued = 0;
        drained = true;
      }
    }
  }
  return drained || most == 0 ? most : CompiledProgram::kUnbounded;
}

std::uint32_t most_queued(const Program& program, std::uint8_t stream) {
  std::uint32_t most = 0;
  for (const Program::Thread& thread : program.threads) {
    if (const std::uint32_t here = most_queued(thread, stream); here > 0) {
      most = most == 0 ? here : CompiledProgram::kUnbounded;
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
  std::vector<std::uint32_t> rows(code.size(), 0);
  std::uint32_t following = 0;  // instructions that may continue a row on `stream`, or on any if `anywhere`
  std::uint8_t stream = 0;
  bool anywhere = true;
  for (std::size_t i = code.size(); i-- > 0;) {
    if (only_takes_time(code[i].op)) {
      ++following;
      continue;
    }
    const bool computes = code[i].op == Opcode::Launch && !code[i].per_rank &&
                          kernels[code[i].operand].kind == KernelTiming::Kind::Compute;
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

std::vector<KernelTiming> time_kernels(const Program& program, const GpuSpec& gpu) {
  std::vector<KernelTiming> kernels;
  kernels.reserve(program.kernels.size());
  for (const KernelCall& call : program.kernels) {
    const Prediction prediction = model_for(call).predict(call, gpu);
    kernels.push_back(
        {.seconds = prediction.duration.in_base_units(),
         .band = prediction.band,
         .in_range = prediction.in_range,
         .derived = prediction.provenance == Provenance::Derived,
         .kind = crosses_pcie(call) ? KernelTiming::Kind::Transfer : KernelTiming::Kind::Compute});
  }
  return kernels;
}

CompiledProgram compile(const Program& program, const GpuSpec& gpu) {
  CompiledProgram compiled;
  compiled.program = &program;
  compiled.kernels = time_kernels(program, gpu);
  for (const KernelTiming& kernel : compiled.kernels) {
    compiled.kernel_seconds.push_back(kernel.seconds);
  }
  for (const Program::Thread& thread : program.threads) {
    compiled.pauses.emplace_back(program, compiled.code.size(), compiled.kernels);
    compiled.rows.push_back(rows_of(thread, compiled.kernels));
    compiled.code.push_back(thread.instructions.data());
  }
  compiled.pairs = pairs_of(program);
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    compiled.most_queued.push_back(most_queued(program, static_cast<std::uint8_t>(stream)));
  }
  return compiled;
}

}  // namespace lockstep
