#include "search/plans/pass_clock.hpp"

#include <algorithm>
#include <string_view>

namespace lockstep {
namespace {

/// Where kernels count that are launched inside the open ranges; null: nowhere.
double* account_of(const std::vector<std::string_view>& open, PassTimes& times) {
  double PhaseTimes::*phase = nullptr;
  PhaseTimes* part = nullptr;
  for (const std::string_view name : open) {
    if (name == "forward") {
      phase = &PhaseTimes::forward;
    } else if (name == "backward") {
      phase = &PhaseTimes::backward;
    } else if (name == "weight gradients") {
      phase = &PhaseTimes::weights;
    } else if (name.starts_with("layer ")) {
      part = &times.layers;
    } else if (name == "embedding") {
      part = &times.embedding;
    } else if (name == "head" || name == "loss") {
      part = &times.head;
    }
  }
  return phase != nullptr && part != nullptr ? &(part->*phase) : nullptr;
}

}  // namespace

PassClock::PassClock(const Job& job, std::uint32_t step) : step_{step} {
  const Program& program = *job.programs[job.ranks.front().program];
  compute_ =
      static_cast<std::uint8_t>(std::ranges::find(program.streams, "compute") - program.streams.begin());
  for (const Program::Thread& thread : program.threads) {
    std::vector<double*>& accounts = account_.emplace_back();
    std::vector<std::string_view> open;
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::RangeBegin) {
        open.push_back(program.names[instruction.operand]);
      } else if (instruction.op == Opcode::RangeEnd) {
        open.pop_back();
      }
      double* account = instruction.op == Opcode::Launch ? account_of(open, times_) : nullptr;
      accounts.push_back(account != nullptr ? account : &other_);
    }
  }
}

void PassClock::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    if (span.rank == 0 && span.kind == SpanKind::Kernel && span.stream == compute_) {
      if (span.step == step_) {
        *account_[span.thread][span.instruction] += span.end - end_;
      }
      end_ = span.end;
    }
  }
}

}  // namespace lockstep
