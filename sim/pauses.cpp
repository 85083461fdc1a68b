#include "sim/pauses.hpp"

#include <algorithm>
#include <span>

namespace lockstep {
namespace {

/// An index of execution over two steps of a thread, because a pause may reach into the next one; -1: none.
using Moment = std::int32_t;
constexpr Moment kNone = -1;

/// Moments from the one to before the other.
struct Interval {
  Moment begin, end;
};

bool is_copy(const KernelTiming& kernel) {
  return kernel.crosses_links();
}

/// Follows a thread through two steps, for every stream S at once. A gate is the latest moment such that what
/// comes now waits for a record on S at or after it: pauses up to there are harmless.
class GateWalk {
 public:
  GateWalk(const Program& program, std::size_t thread, const std::vector<KernelTiming>& kernels)
      : code_{program.threads[thread].instructions},
        kernels_{kernels},
        used_{program.streams.size()},
        streams_{(used_ + kLanes - 1) / kLanes * kLanes},
        of_stream_(streams_ * streams_, kNone),
        of_event_(program.events * streams_, kNone),
        of_thread_(streams_, kNone),
        forbidden_(used_),
        distrusted_(program.events, false),
        copies_{std::ranges::any_of(kernels, is_copy)} {
    for (std::size_t other = 0; other < program.threads.size(); ++other) {
      if (other != thread) {
        distrust_records(program.threads[other]);
      }
    }
    const std::vector<Moment> relevant = relevant_instructions();
    for (const std::size_t step : {std::size_t{0}, code_.size()}) {
      for (const Moment index : relevant) {
        pass(code_[static_cast<std::size_t>(index)], static_cast<Moment>(step) + index);
      }
    }
  }

  /// When the thread must not pause for a stream, in order and apart.
  [[nodiscard]] const std::vector<Interval>& forbidden(std::size_t stream) const {
    return forbidden_[stream];
  }

 private:
  /// Distrusts what another thread records: it may be on any stream by the time that ours waits for it.
  void distrust_records(const Program::Thread& other) {
    for (const Instruction& instruction : other.instructions) {
      if (instruction.op == Opcode::RecordEvent) {
        distrusted_[instruction.operand] = true;
      }
    }
  }

  [[nodiscard]] bool is_relevant(const Instruction& instruction) const {
    switch (instruction.op) {
      case Opcode::HostWork:
      case Opcode::RangeBegin:
      case Opcode::RangeEnd:
      case Opcode::Await:
        return false;
      case Opcode::Launch:
        return copies_ && (instruction.per_rank || is_copy(kernels_[instruction.operand]));
      default:
        return true;
    }
  }

  [[nodiscard]] std::vector<Moment> relevant_instructions() const {
    std::vector<Moment> relevant;
    for (std::size_t index = 0; index < code_.size(); ++index) {
      if (is_relevant(code_[index])) {
        relevant.push_back(static_cast<Moment>(index));
      }
    }
    return relevant;
  }

  /// Gates by S of what is on @p stream, or of the latest record of @p event.
  [[nodiscard]] Moment* of_stream(std::uint8_t stream) { return &of_stream_[stream * streams_]; }
  [[nodiscard]] Moment* of_event(std::uint32_t event) { return &of_event_[event * streams_]; }

  void raise(Moment* __restrict gates, const Moment* __restrict to) const {
    for (std::size_t first = 0; first < streams_; first += kLanes) {
      for (std::size_t stream = first; stream < first + kLanes; ++stream) {
        gates[stream] = std::max(gates[stream], to[stream]);
      }
    }
  }

  void pass(const Instruction& next, Moment now) {
    switch (next.op) {
      case Opcode::RecordEvent: {
        Moment* const event = of_event(next.operand);
        std::ranges::copy(of_thread_, event);
        raise(event, of_stream(next.stream));
        event[next.stream] = now;
        break;
      }
      case Opcode::StreamWait:
        if (!distrusted_[next.operand]) {
          raise(of_stream(next.stream), of_event(next.operand));
        }
        break;
      case Opcode::WaitEvent:
        if (!distrusted_[next.operand]) {
          raise(of_thread_.data(), of_event(next.operand));
        }
        break;
      case Opcode::WaitStream:
        raise(of_thread_.data(), of_stream(next.stream));
        of_thread_[next.stream] = now;
        break;
      case Opcode::WaitDevice:
        std::ranges::fill(of_thread_, now);
        break;
      case Opcode::Launch:
      case Opcode::Collective:
        is_seen(next.stream, now);
        break;
      case Opcode::Post:
        for (std::size_t stream = 0; stream < used_; ++stream) {
          forbid_after(stream, of_thread_[stream], now);
        }
        break;
      default:
        break;
    }
  }

  void is_seen(std::uint8_t on, Moment now) {
    const Moment* const gates = of_stream(on);
    for (std::size_t stream = 0; stream < used_; ++stream) {
      if (stream != on) {  // what is on S waits for S
        forbid_after(stream, std::max(gates[stream], of_thread_[stream]), now);
      }
    }
  }

  /// @pre @p now is no earlier than that of the call before
  void forbid_after(std::size_t stream, Moment gate, Moment now) {
    if (gate >= now) {
      return;
    }
    std::vector<Interval>& intervals = forbidden_[stream];
    Interval latest{gate + 1, now + 1};
    while (!intervals.empty() && intervals.back().end >= latest.begin) {
      latest.begin = std::min(latest.begin, intervals.back().begin);
      intervals.pop_back();
    }
    intervals.push_back(latest);
  }

  static constexpr std::size_t kLanes = 8;  // of a vector instruction, or two

  const std::vector<Instruction>& code_;
  const std::vector<KernelTiming>& kernels_;
  std::size_t used_;                          // streams
  std::size_t streams_;                       // rounded up
  std::vector<Moment> of_stream_, of_event_;  // S by S
  std::vector<Moment> of_thread_;
  std::vector<std::vector<Interval>> forbidden_;  // by stream
  std::vector<bool> distrusted_;                  // by event
  bool copies_;
};

bool adds_to_stream(Opcode op) {
  return op == Opcode::Launch || op == Opcode::Collective || op == Opcode::RecordEvent ||
         op == Opcode::StreamWait || op == Opcode::StartLag;
}

/// Asked about one moment after the other: is it within one of the intervals?
class Cover {
 public:
  /// @param intervals in order and apart
  /// @param shift what a moment that is asked about lacks to one of the intervals'
  Cover(std::span<const Interval> intervals, Moment shift) : left_{intervals}, shift_{shift} {}

  [[nodiscard]] bool covers(Moment moment) {
    moment += shift_;
    while (!left_.empty() && left_.front().end <= moment) {
      left_ = left_.subspan(1);
    }
    return !left_.empty() && left_.front().begin <= moment;
  }

 private:
  std::span<const Interval> left_;
  Moment shift_;
};

}  // namespace

Pauses::Pauses(const Program& program, std::size_t thread, const std::vector<KernelTiming>& kernels)
    : forbidden_(program.threads[thread].instructions.size(), false) {
  const std::vector<Instruction>& code = program.threads[thread].instructions;
  const GateWalk walk{program, thread, kernels};
  const auto size = static_cast<Moment>(code.size());
  std::vector<Cover> first_step;  // by stream
  std::vector<Cover> second_step;
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    first_step.emplace_back(walk.forbidden(stream), 0);
    second_step.emplace_back(walk.forbidden(stream), size);
  }
  for (Moment index = 0; index < size; ++index) {
    const Instruction& instruction = code[static_cast<std::size_t>(index)];
    if (adds_to_stream(instruction.op) &&
        (first_step[instruction.stream].covers(index) || second_step[instruction.stream].covers(index))) {
      forbidden_[static_cast<std::size_t>(index)] = true;
    }
  }
}

}  // namespace lockstep
