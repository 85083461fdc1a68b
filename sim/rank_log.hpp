#pragma once

#include <cstdint>
#include <vector>

#include "ops/program.hpp"
#include "sim/rendezvous.hpp"
#include "sim/stream_item.hpp"

namespace lockstep {

/// Why a piece of work began when it did.
struct Cause {
  enum class Kind : std::uint8_t {
    None,      ///< first of its lane in the recorded step: what was before it belongs to an earlier one
    Previous,  ///< the entry before it in the same lane
    Host,      ///< the launch call: thread `lane`, instruction `entry`
    Stream,    ///< entry `entry` of stream `lane` (through an event, or a full launch queue)
  };
  Kind kind = Kind::None;
  std::uint8_t lane = 0;
  std::uint32_t entry = 0;
};

/// A kernel, copy or communication kernel of the recorded step.
struct LogEntry {
  double start = 0;
  double end = 0;
  double free_since = 0;      ///< when all that its stream had to do before it was done
  std::uint32_t where = 0;    ///< as StreamItem::where
  std::uint32_t meeting = 0;  ///< collectives, copies: which of the lane's meetings
  Cause cause;
};

/// A host instruction of the recorded step that had to wait.
struct HostWaitEntry {
  std::uint32_t instruction = 0;
  Cause cause;
  double until = 0;
};

/// An interruption of the main thread before an instruction of the recorded step.
struct NoiseEntry {
  std::uint32_t instruction = 0;
  std::uint32_t source = 0;  ///< of Noise::sources()
  double seconds = 0;
};

/// Everything one rank did in the last step, in the order of each lane: the critical path is made of it.
struct RankLog {
  RankLog(const Program& program, std::uint32_t recorded_step)
      : step{recorded_step},
        streams(program.streams.size()),
        event_causes(program.events),
        thread_starts(program.threads.size()),
        waits(program.threads.size()) {
    std::vector<std::size_t> launches(streams.size(), 0);
    for (const Program::Thread& thread : program.threads) {
      instruction_ends.emplace_back(thread.instructions.size());
      for (const Instruction& instruction : thread.instructions) {
        if (instruction.op == Opcode::Launch || instruction.op == Opcode::Collective) {
          ++launches[instruction.stream];
        }
      }
    }
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
      streams[stream].entries.reserve(launches[stream]);
    }
  }

  static constexpr std::uint32_t kNoEntry = 0xffffffff;
  /// A stream.
  struct Lane {
    std::vector<LogEntry> entries;
    std::vector<Rendezvous> meetings;
    std::uint32_t launched_before = 0;  ///< on the stream, in earlier steps
    Cause raised_by;                    ///< the event that moved the stream's clock since the latest entry
    /// Index of the latest entry; kNoEntry before the first.
    [[nodiscard]] std::uint32_t latest() const { return static_cast<std::uint32_t>(entries.size()) - 1; }
    /// Notes that the work of @p item begins at @p start, and why then. The caller adds `free_since`.
    LogEntry& begin(std::uint8_t self, const StreamItem& item, double start, double launch_to_start);
  };
  std::uint32_t step;                                 ///< the step that is recorded
  std::vector<Lane> streams;                          ///< by stream
  std::vector<Cause> event_causes;                    ///< by event: of its latest record, if taken at once
  std::vector<std::vector<double>> instruction_ends;  ///< by thread and instruction
  std::vector<double> thread_starts;                  ///< by thread: when its step began
  std::vector<std::vector<HostWaitEntry>> waits;      ///< by thread, in order
  std::vector<NoiseEntry> noise;                      ///< in order
};

inline LogEntry& RankLog::Lane::begin(std::uint8_t self, const StreamItem& item, double start,
                                      double launch_to_start) {
  LogEntry entry;
  entry.start = start;
  entry.where = item.where;
  if (start == item.issue + launch_to_start) {
    entry.cause = {Cause::Kind::Host, item.thread(), item.instruction()};
  } else if (raised_by.kind != Cause::Kind::None) {
    entry.cause = raised_by;
  } else if (!entries.empty()) {
    entry.cause = {Cause::Kind::Previous, self, latest()};
  }
  raised_by = {};
  return entries.emplace_back(entry);
}

}  // namespace lockstep
