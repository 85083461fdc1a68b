#include "ops/program_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

/// A place in a program, for messages.
struct Place {
  const Program& program;
  std::size_t thread;
  std::size_t instruction;

  [[noreturn]] void reject(const std::string& why) const {
    throw std::invalid_argument{
        fmt::format("thread '{}', instruction {}: {}", program.threads[thread].name, instruction, why)};
  }
};

void expect_below(const Place& place, std::string_view what, std::size_t index, std::size_t count) {
  if (index >= count) {
    place.reject(fmt::format("{} {} does not exist (the program has {})", what, index, count));
  }
}

bool uses_stream(Opcode op) {
  return op == Opcode::Launch || op == Opcode::Collective || op == Opcode::RecordEvent ||
         op == Opcode::StreamWait || op == Opcode::WaitStream || op == Opcode::StartLag;
}

void check_operand(const Place& place, const Instruction& instruction) {
  const Program& program = place.program;
  switch (instruction.op) {
    case Opcode::HostWork:
    case Opcode::RangeBegin:
      return expect_below(place, "name", instruction.operand, program.names.size());
    case Opcode::Launch:
      if (!instruction.per_rank) {
        expect_below(place, "kernel", instruction.operand, program.kernels.size());
      }
      return;
    case Opcode::Collective:
      if (!instruction.per_rank) {
        expect_below(place, "collective", instruction.operand, program.collectives.size());
      }
      return;
    case Opcode::RecordEvent:
    case Opcode::StreamWait:
    case Opcode::WaitEvent:
      return expect_below(place, "event", instruction.operand, program.events);
    case Opcode::Post:
    case Opcode::Await:
      return expect_below(place, "flag", instruction.operand, program.flags);
    case Opcode::RangeEnd:
    case Opcode::WaitStream:
    case Opcode::WaitDevice:
    case Opcode::StartLag:
      return;
  }
  place.reject("unknown opcode");
}

bool is_time(float seconds) {
  return seconds >= 0 && seconds <= std::numeric_limits<float>::max();
}

void check_instruction(const Place& place, const Instruction& instruction) {
  if (!is_time(instruction.lead) || !is_time(instruction.cost)) {
    place.reject(fmt::format("host times must be finite and not negative (lead {} s, cost {} s)",
                             instruction.lead, instruction.cost));
  }
  if (instruction.per_rank && instruction.op != Opcode::Launch && instruction.op != Opcode::Collective) {
    place.reject("only launches and collectives may differ by rank");
  }
  if (uses_stream(instruction.op)) {
    expect_below(place, "stream", instruction.stream, place.program.streams.size());
  }
  check_operand(place, instruction);
}

/// Bounds below which an instruction, with times that are times, needs no closer look.
class Bounds {
 public:
  explicit Bounds(const Program& program) {
    operand_.fill(kNone);
    stream_.fill(kNone);
    bound_operand({Opcode::HostWork, Opcode::RangeBegin}, program.names.size());
    bound_operand({Opcode::Launch}, program.kernels.size());
    bound_operand({Opcode::Collective}, program.collectives.size());
    bound_operand({Opcode::RecordEvent, Opcode::StreamWait, Opcode::WaitEvent}, program.events);
    bound_operand({Opcode::Post, Opcode::Await}, program.flags);
    for (std::size_t op = 0; op < kOpcodes; ++op) {
      if (uses_stream(static_cast<Opcode>(op))) {
        stream_[op] = program.streams.size();
      }
    }
  }

  [[nodiscard]] bool hold(const Instruction& instruction) const {
    const auto op = static_cast<std::size_t>(instruction.op);
    return op < kOpcodes && !instruction.per_rank && instruction.operand < operand_[op] &&
           instruction.stream < stream_[op] && is_time(instruction.lead) && is_time(instruction.cost);
  }

 private:
  static constexpr std::size_t kOpcodes = static_cast<std::size_t>(Opcode::StartLag) + 1;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void bound_operand(std::initializer_list<Opcode> ops, std::size_t bound) {
    for (const Opcode op : ops) {
      operand_.at(static_cast<std::size_t>(op)) = bound;
    }
  }

  std::array<std::size_t, kOpcodes> operand_{}, stream_{};  // by opcode
};

void check_threads(const Program& program) {
  const Bounds bounds{program};
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    const auto& instructions = program.threads[t].instructions;
    int open = 0;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (!bounds.hold(instructions[i])) {
        check_instruction({program, t, i}, instructions[i]);
      }
      open += instructions[i].op == Opcode::RangeBegin ? 1 : 0;
      open -= instructions[i].op == Opcode::RangeEnd ? 1 : 0;
      if (open < 0) {
        Place{program, t, i}.reject("closes a range, but none is open");
      }
    }
    if (open > 0) {
      Place{program, t, instructions.size()}.reject(fmt::format("{} ranges are still open at the end", open));
    }
  }
}

/// Instructions that a thread has certainly seen: by thread, the number of those that come before.
using Clock = std::vector<std::size_t>;

void join(Clock& mine, const Clock& other) {
  std::transform(mine.begin(), mine.end(), other.begin(), mine.begin(),
                 [](std::size_t a, std::size_t b) { return std::max(a, b); });
}

/// Runs the host threads of one step without times, as far as flags let them, with vector clocks.
class OrderCheck {
 public:
  explicit OrderCheck(const Program& program)
      : program_{program},
        next_(program.threads.size(), 0),
        clocks_(program.threads.size(), Clock(program.threads.size(), 0)),
        awaited_(program.threads.size(), std::vector<std::size_t>(program.flags, 0)),
        posts_(program.flags),
        records_(program.events) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
        const std::size_t before = next_[thread];
        go_on(thread);
        moved = moved || next_[thread] > before;
      }
    }
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      if (next_[thread] < program_.threads[thread].instructions.size()) {
        Place{program_, thread, next_[thread]}.reject(
            "awaits a flag that is not posted often enough before it (or only after this thread goes on)");
      }
    }
  }

 private:
  struct Record {
    std::size_t thread;
    std::size_t instruction;
  };

  /// Executes @p thread until it ends or has to wait.
  void go_on(std::size_t thread) {
    const auto& instructions = program_.threads[thread].instructions;
    for (std::size_t& index = next_[thread]; index < instructions.size(); ++index) {
      switch (const Instruction& instruction = instructions[index]; instruction.op) {
        case Opcode::Await:
          if (!take_post(thread, instruction.operand)) {
            return;
          }
          break;
        case Opcode::Post:
        case Opcode::RecordEvent:
        case Opcode::StreamWait:
        case Opcode::WaitEvent:
          clocks_[thread][thread] = index + 1;
          observe(thread, index, instruction);
          break;
        default:
          break;
      }
    }
  }

  /// False: there is none yet.
  bool take_post(std::size_t thread, std::uint32_t flag) {
    std::size_t& count = awaited_[thread][flag];
    if (posts_[flag].size() <= count) {
      return false;
    }
    join(clocks_[thread], posts_[flag][count++]);
    return true;
  }

  void observe(std::size_t thread, std::size_t index, const Instruction& instruction) {
    if (instruction.op == Opcode::Post) {
      posts_[instruction.operand].push_back(clocks_[thread]);
    } else if (instruction.op == Opcode::RecordEvent) {
      note_record(instruction.operand, {thread, index});
    } else {
      const auto& records = records_[instruction.operand];
      const bool recorded = std::any_of(records.begin(), records.end(), [&](const Record& record) {
        return record.instruction < clocks_[thread][record.thread];
      });
      if (!recorded && !recorded_by_same_thread_later(thread, index, instruction.operand)) {
        Place{program_, thread, index}.reject(
            fmt::format("waits for event {} that was not recorded before", instruction.operand));
      }
    }
  }

  /// The first of a thread is before whatever its later ones are before.
  void note_record(std::uint32_t event, const Record& record) {
    std::vector<Record>& records = records_[event];
    if (std::ranges::find(records, record.thread, &Record::thread) == records.end()) {
      records.push_back(record);
    }
  }

  /// For a carried event: the thread that waits records it too, so that the step before has done so already.
  [[nodiscard]] bool recorded_by_same_thread_later(std::size_t thread, std::size_t index,
                                                   std::uint32_t event) const {
    const auto& carried = program_.carried_events;
    const auto& instructions = program_.threads[thread].instructions;
    return std::find(carried.begin(), carried.end(), event) != carried.end() &&
           std::any_of(instructions.begin() + static_cast<std::ptrdiff_t>(index), instructions.end(),
                       [event](const Instruction& later) {
                         return later.op == Opcode::RecordEvent && later.operand == event;
                       });
  }

  const Program& program_;
  std::vector<std::size_t> next_;                  // by thread
  std::vector<Clock> clocks_;                      // by thread
  std::vector<std::vector<std::size_t>> awaited_;  // by thread and flag
  std::vector<std::vector<Clock>> posts_;          // by flag, in order
  std::vector<std::vector<Record>> records_;       // by event: the first of each thread
};

}  // namespace

SlotCounts slots_of(const Program& program) {
  SlotCounts slots;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.per_rank) {
        std::uint32_t& count = instruction.op == Opcode::Launch ? slots.kernels : slots.collectives;
        count = std::max(count, instruction.operand + 1);
      }
    }
  }
  return slots;
}

void check(const Program& program) {
  check_threads(program);
  for (const std::uint32_t event : program.carried_events) {
    if (event >= program.events) {
      throw std::invalid_argument{
          fmt::format("carried event {} does not exist (the program has {})", event, program.events)};
    }
  }
  OrderCheck{program}.run();
}

}  // namespace lockstep
