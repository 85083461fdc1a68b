#include "sim/folding/lone_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "ops/program.hpp"
#include "ops/thread_walk.hpp"
#include "sim/communicator.hpp"
#include "sim/kernel_timing.hpp"

namespace lockstep {
namespace {

/// A place in the order in which instructions of two steps happen; 0: before all of them.
using Moment = std::uint64_t;
/// By stream: up to when all that was issued there has ended.
using Gates = std::vector<Moment>;

void raise(Gates& gates, const Gates& to) {
  std::ranges::transform(gates, to, gates.begin(), [](Moment a, Moment b) { return std::max(a, b); });
}

/// A thread that awaits a flag does so as often as it is posted.
bool are_awaited(const Program& program) {
  std::vector<std::size_t> posted(program.flags);
  std::vector<std::vector<std::size_t>> awaited(program.threads.size(), posted);
  for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
    for (const Instruction& instruction : program.threads[thread].instructions) {
      if (instruction.op == Opcode::Post) {
        ++posted[instruction.operand];
      } else if (instruction.op == Opcode::Await) {
        ++awaited[thread][instruction.operand];
      }
    }
  }
  return std::ranges::all_of(awaited, [&](const std::vector<std::size_t>& of_thread) {
    return std::ranges::equal(of_thread, posted, [](auto a, auto p) { return a == 0 || a == p; });
  });
}

/// Follows a Program through two steps, because the one may still be under way in the other. Its threads have
/// to take turns wherever they use streams, else their order is unknown.
class LoneCalls {
 public:
  LoneCalls(const Program& program, const std::vector<KernelTiming>& kernels)
      : program_{program},
        kernels_{kernels},
        copies_{std::ranges::any_of(kernels, &KernelTiming::crosses_links)},
        of_thread_(program.threads.size(), {0, Gates(program.streams.size())}),
        of_stream_(program.streams.size(), Gates(program.streams.size())),
        of_event_(program.events, Gates(program.streams.size())),
        latest_(program.streams.size()),
        calls_(program.groups.size(), Gates(program.streams.size())),
        lone_(program.groups.size(), true) {
    bool in_turns = are_awaited(program);
    for (int step = 0; step < 2 && in_turns; ++step) {
      ThreadWalk<Seen> walk{program};
      walk.run([&](std::size_t thread, std::size_t /*number*/, const Instruction& instruction) {
        in_turns = in_turns && pass(walk, thread, instruction);
      });
    }
    if (!in_turns) {
      lone_.assign(lone_.size(), false);
    }
  }

  /// By Program::groups.
  [[nodiscard]] const std::vector<bool>& slots() const { return lone_; }

 private:
  /// The latest moment that a thread knows of, and what it has waited for.
  struct Seen {
    Moment moment = 0;
    Gates gates;
  };

  /// Whether @p instruction puts something on links.
  [[nodiscard]] bool transfers(const Instruction& instruction) const {
    return instruction.op == Opcode::Collective ||
           (instruction.op == Opcode::Launch && copies_ &&
            (instruction.per_rank || kernels_[instruction.operand].crosses_links()));
  }

  [[nodiscard]] bool uses_streams(const Instruction& instruction) const {
    return transfers(instruction) || instruction.op == Opcode::RecordEvent ||
           instruction.op == Opcode::StreamWait || instruction.op == Opcode::WaitEvent ||
           instruction.op == Opcode::WaitStream || instruction.op == Opcode::WaitDevice;
  }

  /// @return whether the thread knows of all that came before
  bool pass(ThreadWalk<Seen>& walk, std::size_t thread, const Instruction& next) {
    Seen& seen = of_thread_[thread];
    if (next.op == Opcode::Post) {
      walk.post(next.operand, seen);
    } else if (next.op == Opcode::Await) {
      const Seen& posted = walk.await(thread, next.operand);
      seen.moment = std::max(seen.moment, posted.moment);
      raise(seen.gates, posted.gates);
    } else if (uses_streams(next)) {
      if (seen.moment != now_) {
        return false;
      }
      seen.moment = ++now_;
      use_streams(seen.gates, next);
    }
    return true;
  }

  void use_streams(Gates& of_thread, const Instruction& next) {
    switch (next.op) {
      case Opcode::RecordEvent:
        of_event_[next.operand] = of_thread;
        raise(of_event_[next.operand], of_stream_[next.stream]);
        of_event_[next.operand][next.stream] = now_;
        break;
      case Opcode::StreamWait:
        raise(of_stream_[next.stream], of_event_[next.operand]);
        break;
      case Opcode::WaitEvent:
        raise(of_thread, of_event_[next.operand]);
        break;
      case Opcode::WaitStream:
        raise(of_thread, of_stream_[next.stream]);
        of_thread[next.stream] = now_;
        break;
      case Opcode::WaitDevice:
        std::ranges::fill(of_thread, now_);
        break;
      default:
        raise(of_stream_[next.stream], of_thread);
        of_stream_[next.stream][next.stream] = now_;
        transfer(of_stream_[next.stream], next);
        break;
    }
  }

  /// @param ended what has when the transfer begins; all that came before it on its own stream
  void transfer(const Gates& ended, const Instruction& next) {
    const auto under_way = [](const Gates& issued, const Gates& over) {
      return !std::ranges::equal(issued, over, std::ranges::less_equal{});
    };
    for (std::size_t slot = 0; slot < lone_.size(); ++slot) {
      lone_[slot] = lone_[slot] && !under_way(calls_[slot], ended);
    }
    if (next.op == Opcode::Collective && !next.per_rank) {
      const CollectiveCall& call = program_.collectives[next.operand];
      if (!is_pair(call.kind)) {
        lone_[call.group] = lone_[call.group] && !under_way(latest_, ended);
        calls_[call.group][next.stream] = now_;
      }
    }
    latest_[next.stream] = now_;
  }

  const Program& program_;
  const std::vector<KernelTiming>& kernels_;
  bool copies_;
  Moment now_ = 0;
  std::vector<Seen> of_thread_;
  std::vector<Gates> of_stream_;  // of what comes next there
  std::vector<Gates> of_event_;   // of the latest record
  Gates latest_;                  // transfers by stream
  std::vector<Gates> calls_;      // those of a slot, by stream
  std::vector<bool> lone_;        // by slot
};

/// Whether a rank's own calls, which fill slots of its program, are of the group in @p slot.
bool calls_by_slot(const RankAssignment& rank, const Program& program, std::uint32_t slot) {
  return std::ranges::any_of(rank.collective_slots, [&](std::uint32_t index) {
    const CollectiveCall& call = program.collectives[index];
    return call.group == slot && !is_pair(call.kind);
  });
}

}  // namespace

std::vector<bool> lone_groups(const Job& job, const std::vector<const CompiledProgram*>& compiled) {
  std::vector<bool> lone;
  for (const ProcessGroup& group : job.groups) {
    lone.push_back(group.ranks.size() == job.ranks.size());
  }
  if (std::ranges::none_of(lone, std::identity{})) {
    return lone;
  }
  std::map<const CompiledProgram*, std::vector<bool>> known;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankAssignment& assignment = job.ranks[rank];
    const Program& program = *job.programs[assignment.program];
    const auto [entry, fresh] = known.try_emplace(compiled[rank]);
    if (fresh) {
      entry->second = LoneCalls{program, compiled[rank]->kernels}.slots();
    }
    for (std::uint32_t slot = 0; slot < assignment.groups.size(); ++slot) {
      const std::uint32_t group = assignment.groups[slot];
      const bool repeats = std::ranges::count(assignment.groups, group) > 1;
      if (lone[group] && (repeats || !entry->second[slot] || calls_by_slot(assignment, program, slot))) {
        lone[group] = false;
      }
    }
  }
  return lone;
}

}  // namespace lockstep
