#include "sim/pauses.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// Follows a thread through two steps for one stream S (a pause may reach into the next step), by index of
/// execution. A gate is the latest index such that what comes now waits for a record on S at or after it:
/// pauses up to there are harmless.
class GateWalk {
 public:
  GateWalk(const Program& program, std::size_t thread, std::uint8_t stream,
           const std::vector<KernelTiming>& kernels)
      : program_{program},
        code_{program.threads[thread].instructions},
        stream_{stream},
        kernels_{kernels},
        of_stream_(program.streams.size(), kNone),
        of_event_(program.events, kNone),
        changes_(2 * code_.size() + 1, 0) {
    copies_ = std::any_of(kernels.begin(), kernels.end(), is_copy);
    for (std::size_t other = 0; other < program.threads.size(); ++other) {
      if (other != thread) {
        distrust_records(program.threads[other]);
      }
    }
    for (std::size_t now = 0; now < 2 * code_.size(); ++now) {
      pass(code_[now % code_.size()], static_cast<std::int64_t>(now));
    }
  }

  /// Calls @p forbid with each instruction before which the thread must not pause.
  template <class Forbid>
  void for_each_forbidden(Forbid forbid) const {
    int open = 0;
    for (std::size_t now = 0; now < 2 * code_.size(); ++now) {
      open += changes_[now];
      if (open > 0) {
        forbid(now % code_.size());
      }
    }
  }

 private:
  static constexpr std::int64_t kNone = -1;
  static bool is_copy(const KernelTiming& kernel) { return kernel.kind == KernelTiming::Kind::Transfer; }

  /// What another thread records may be on any stream by the time that ours waits for it.
  void distrust_records(const Program::Thread& other) {
    distrusted_.resize(program_.events, false);
    for (const Instruction& instruction : other.instructions) {
      if (instruction.op == Opcode::RecordEvent) {
        distrusted_[instruction.operand] = true;
      }
    }
  }

  [[nodiscard]] std::int64_t gate_of_event(std::uint32_t event) const {
    return !distrusted_.empty() && distrusted_[event] ? kNone : of_event_[event];
  }

  void pass(const Instruction& next, std::int64_t now) {
    switch (next.op) {
      case Opcode::RecordEvent:
        of_event_[next.operand] =
            next.stream == stream_ ? now : std::max(of_stream_[next.stream], of_thread_);
        break;
      case Opcode::StreamWait:
        of_stream_[next.stream] = std::max(of_stream_[next.stream], gate_of_event(next.operand));
        break;
      case Opcode::WaitEvent:
        of_thread_ = std::max(of_thread_, gate_of_event(next.operand));
        break;
      case Opcode::WaitStream:
        of_thread_ = std::max(of_thread_, next.stream == stream_ ? now : of_stream_[next.stream]);
        break;
      case Opcode::WaitDevice:
        of_thread_ = now;
        break;
      case Opcode::Launch:
        if (next.per_rank ? copies_ : is_copy(kernels_[next.operand])) {
          is_seen(next.stream, now);
        }
        break;
      case Opcode::Collective:
        is_seen(next.stream, now);
        break;
      case Opcode::Post:
        forbid_after(of_thread_, now);
        break;
      default:
        break;
    }
  }

  void is_seen(std::uint8_t on, std::int64_t now) {
    if (on != stream_) {  // what is on S waits for S
      forbid_after(std::max(of_stream_[on], of_thread_), now);
    }
  }

  void forbid_after(std::int64_t gate, std::int64_t now) {
    ++changes_[static_cast<std::size_t>(gate + 1)];
    --changes_[static_cast<std::size_t>(now + 1)];
  }

  const Program& program_;
  const std::vector<Instruction>& code_;
  std::uint8_t stream_;
  const std::vector<KernelTiming>& kernels_;
  std::vector<std::int64_t> of_stream_;
  std::vector<std::int64_t> of_event_;
  std::int64_t of_thread_ = kNone;
  std::vector<int> changes_;  // of how many seen launches forbid a pause there
  std::vector<bool> distrusted_;
  bool copies_ = false;
};

}  // namespace

Pauses::Pauses(const Program& program, std::size_t thread, const std::vector<KernelTiming>& kernels)
    : forbidden_(program.threads[thread].instructions.size(), 0) {
  for (std::size_t stream = 0; stream < program.streams.size() && !forbidden_.empty(); ++stream) {
    const GateWalk walk{program, thread, static_cast<std::uint8_t>(stream), kernels};
    walk.for_each_forbidden([&](std::size_t instruction) { forbidden_[instruction] |= 1ULL << stream; });
  }
}

}  // namespace lockstep
