#include "traces/span_names.hpp"

#include <fmt/format.h>

#include "traces/kineto_names.hpp"

namespace lockstep {

bool is_on_gpu(const TimelineSpan& span) {
  return span.kind == SpanKind::Kernel || span.kind == SpanKind::Collective;
}

std::string span_name(const Job& job, const TimelineSpan& span) {
  const RankAssignment& rank = job.ranks[span.rank];
  const Program& program = *job.programs[rank.program];
  if (span.kind == SpanKind::Noise) {
    return "noise";
  }
  const Instruction& instruction = program.threads[span.thread].instructions[span.instruction];
  switch (span.kind) {
    case SpanKind::Kernel:
      return slice_name(program.kernels[instruction.per_rank ? rank.kernel_slots[instruction.operand]
                                                             : instruction.operand]);
    case SpanKind::Collective: {
      const CollectiveCall& call =
          program.collectives[instruction.per_rank ? rank.collective_slots[instruction.operand]
                                                   : instruction.operand];
      return fmt::format("{}, {}", to_string(call.kind), program.groups[call.group]);
    }
    case SpanKind::Runtime:
    case SpanKind::HostWait: {
      const KernelCall* kernel = nullptr;
      if (instruction.op == Opcode::Launch) {
        kernel = &program.kernels[instruction.per_rank ? rank.kernel_slots[instruction.operand]
                                                       : instruction.operand];
      }
      return std::string{runtime_name(instruction.op, kernel).name};
    }
    case SpanKind::Range:
    case SpanKind::HostWork:
    case SpanKind::Noise:
      break;
  }
  return program.names[instruction.operand];
}

}  // namespace lockstep
