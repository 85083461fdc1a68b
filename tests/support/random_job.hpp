#pragma once

/// @file
/// Random small jobs that cannot deadlock: all ranks walk one list of operations in the same order, and what
/// a rank waits for is always earlier in the list.

#include <fmt/format.h>
#include <rapidcheck.h>

#include <array>
#include <ostream>
#include <vector>

#include "tests/support/script.hpp"

namespace lockstep::testing {

struct RandomOperation {
  enum class Kind { Work, Launch, Record, StreamWait, WaitEvent, WaitStream, WaitDevice, Collective };
  static constexpr int kKinds = 8;
  Kind kind = Kind::Work;
  int stream = 0;   // 0 .. 2
  int operand = 0;  // event or group, 0 .. 2; collectives: what besides
  int ticks = 0;    // durations; collectives: bytes
};

inline std::ostream& operator<<(std::ostream& out, const RandomOperation& op) {
  constexpr std::array kNames{"work",       "launch",      "record",      "stream_wait",
                              "wait_event", "wait_stream", "wait_device", "collective"};
  return out << fmt::format("{}(stream {}, operand {}, {} ticks)", kNames[static_cast<std::size_t>(op.kind)],
                            op.stream, op.operand, op.ticks);
}

struct RandomJob {
  int ranks = 2;
  std::array<int, 3> members{};  // of groups: a bit a rank
  std::vector<RandomOperation> operations;
  int steps = 1;
  int launch_queue = 1;
};

inline std::ostream& operator<<(std::ostream& out, const RandomJob& job) {
  out << fmt::format("{} ranks, groups {:b} {:b} {:b}, {} steps, launch queue {}:", job.ranks, job.members[0],
                     job.members[1], job.members[2], job.steps, job.launch_queue);
  for (const RandomOperation& op : job.operations) {
    out << "\n  " << op;
  }
  return out;
}

/// inRange() narrows its range with the size of the case; only the number of operations should grow with it.
inline rc::Gen<int> among(int first, int beyond) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(first, beyond));
}

inline rc::Gen<RandomOperation> random_operation() {
  using rc::gen::set;
  const auto kind = rc::gen::map(among(0, RandomOperation::kKinds + 4), [](int number) {  // more collectives
    return static_cast<RandomOperation::Kind>(std::min(number, RandomOperation::kKinds - 1));
  });
  return rc::gen::build<RandomOperation>(
      set(&RandomOperation::kind, kind), set(&RandomOperation::stream, among(0, 3)),
      set(&RandomOperation::operand, among(0, 3)), set(&RandomOperation::ticks, among(1, 50)));
}

inline rc::Gen<RandomJob> random_job() {
  using rc::gen::set;
  const auto masks = rc::gen::map(rc::gen::tuple(among(3, 64), among(3, 64), among(3, 64)),
                                  [](const std::tuple<int, int, int>& m) {
                                    return std::array{std::get<0>(m), std::get<1>(m), std::get<2>(m)};
                                  });
  return rc::gen::build<RandomJob>(
      set(&RandomJob::ranks, among(2, 7)), set(&RandomJob::members, masks),
      set(&RandomJob::operations, rc::gen::container<std::vector<RandomOperation>>(random_operation())),
      set(&RandomJob::steps, among(1, 4)), set(&RandomJob::launch_queue, among(1, 5)));
}

/// Members of a group; all ranks where the mask leaves fewer than two.
inline std::vector<std::uint32_t> members_of(const RandomJob& job, std::size_t group) {
  std::vector<std::uint32_t> chosen;
  std::vector<std::uint32_t> all;
  for (int rank = 0; rank < job.ranks; ++rank) {
    all.push_back(static_cast<std::uint32_t>(rank));
    if ((job.members[group] >> rank & 1) != 0) {
      chosen.push_back(static_cast<std::uint32_t>(rank));
    }
  }
  return chosen.size() < 2 ? all : chosen;
}

/// A collective's kind and size follow from its place in the list.
inline CollectiveCall random_call(const RandomOperation& op, std::uint32_t slot) {
  constexpr std::array kKinds{CollectiveKind::AllReduce, CollectiveKind::AllGather,
                              CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                              CollectiveKind::Broadcast};
  const auto kind = kKinds[static_cast<std::size_t>(op.ticks) % kKinds.size()];
  return {kind, DataType::FP32, slot, Bytes{40e3 * op.ticks}, {}, 0};
}

inline void append(Script& script, const RandomOperation& op, std::array<bool, 3>& recorded) {
  using Kind = RandomOperation::Kind;
  const auto stream = static_cast<std::uint8_t>(op.stream);
  const auto event = static_cast<std::uint32_t>(op.operand);
  bool& known = recorded[event];
  switch (op.kind) {
    case Kind::Work:
      script.work(op.ticks).after(0.5);
      break;
    case Kind::Launch:
      if (op.operand == 2) {
        script.lag(stream, op.ticks % 5, op.ticks % 3);
      }
      script.launch(stream, op.ticks, 1);
      break;
    case Kind::Record:
      script.record(stream, event, 0.25);
      known = true;
      break;
    case Kind::StreamWait:
      known ? script.stream_wait(stream, event, 0.25) : script;
      break;
    case Kind::WaitEvent:
      known ? script.wait_event(event, 0.5) : script;
      break;
    case Kind::WaitStream:
      script.wait_stream(stream, 0.5);
      break;
    case Kind::WaitDevice:
      script.wait_device(0.5);
      break;
    case Kind::Collective:
      break;  // whether a rank takes part depends on its groups
  }
}

/// The job on the given GPUs, one a rank.
inline Job made(const RandomJob& random, const std::vector<VertexId>& gpus) {
  Job job;
  job.steps = random.steps;
  std::array<std::vector<std::uint32_t>, 3> members;
  for (std::size_t group = 0; group < 3; ++group) {
    members[group] = members_of(random, group);
    job.groups.push_back({fmt::format("group{}", group), members[group]});
  }
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(random.ranks); ++rank) {
    RankAssignment assignment{gpus[rank], rank, {}, {}, {}};
    std::vector<std::string> names;
    std::array<int, 3> slots{-1, -1, -1};
    for (std::uint32_t group = 0; group < 3; ++group) {
      if (std::find(members[group].begin(), members[group].end(), rank) != members[group].end()) {
        slots[group] = static_cast<int>(names.size());
        names.push_back(job.groups[group].name);
        assignment.groups.push_back(group);
      }
    }
    Script script({"a", "b", "c"}, names);
    std::array<bool, 3> recorded{};
    for (const RandomOperation& op : random.operations) {
      const int slot = slots[static_cast<std::size_t>(op.operand)];
      if (op.kind != RandomOperation::Kind::Collective) {
        append(script, op, recorded);
      } else if (slot >= 0) {
        script.collective(static_cast<std::uint8_t>(op.stream),
                          random_call(op, static_cast<std::uint32_t>(slot)), 1);
      }
    }
    script.launch(0, 1, 1);  // never an empty program
    job.programs.push_back(std::make_shared<Program>(script.program()));
    job.ranks.push_back(std::move(assignment));
  }
  return job;
}

}  // namespace lockstep::testing
