#pragma once

/// @file
/// A Program: what one rank does in one step. Immutable, compact, shared by all ranks that do the same.

#include <cstdint>
#include <string>
#include <vector>

#include "ops/collectives/collective.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

enum class Opcode : std::uint8_t {
  HostWork,     ///< the thread computes for `cost`; operand: name
  RangeBegin,   ///< opens a named span on the thread; operand: name
  RangeEnd,     ///< closes the innermost one
  Launch,       ///< puts a kernel on a stream; operand: kernel, or slot when per_rank
  Collective,   ///< puts a communication kernel on a stream; operand: collective, or slot when per_rank
  RecordEvent,  ///< cudaEventRecord; operand: event
  StreamWait,   ///< cudaStreamWaitEvent on the latest record issued before it; operand: event
  WaitEvent,    ///< the thread blocks until the latest record of the event issued before it; operand: event
  WaitStream,   ///< the thread blocks until everything issued to the stream has ended
  WaitDevice,   ///< the thread blocks until everything issued to all streams of the rank has ended
  Post,         ///< lets another thread of the rank go on; operand: flag
  Await,        ///< blocks until the flag was posted as often as this thread has awaited it; operand: flag
  StartLag,     ///< the next work put on the stream begins late; takes no host time (see Instruction)
};

/// 16 bytes. `lead` is host time before the instruction (the T1, T2, T3, T5 gaps), `cost` its own host time
/// (T4). A wait pays its lead first (the gap and the call), then blocks, then pays `cost`: from the awaited
/// moment, or from the call when that has passed, until the thread goes on. Of a StartLag, `lead` is how much
/// longer than RankTiming::launch_to_start the launch takes to reach the GPU, and `cost` how much longer than
/// RankTiming::kernel_gap the stream rests after the work before: what a replayed trace says of each kernel.
struct Instruction {
  Opcode op = Opcode::HostWork;
  std::uint8_t stream = 0;
  bool per_rank = false;  ///< operand is a slot of RankAssignment, because ranks differ here
  std::uint8_t reserved = 0;
  std::uint32_t operand = 0;
  float lead = 0;  ///< seconds
  float cost = 0;  ///< seconds
};
static_assert(sizeof(Instruction) == 16);

/// Every index in an instruction points into one of these tables; equal entries are stored once.
struct Program {
  struct Thread {
    std::string name;
    std::vector<Instruction> instructions;
  };

  std::vector<Thread> threads;
  std::vector<std::string> streams;  ///< at most 256
  std::vector<std::string> groups;   ///< names of the process groups used: "world", "tp", ...
  std::vector<std::string> names;
  std::vector<KernelCall> kernels;
  std::vector<CollectiveCall> collectives;
  std::uint32_t events = 0;  ///< number of event ids
  /// Events that a thread may wait for before it records them in the same step: a wait then means the record
  /// of the step before, and holds nothing up in the first step, as in CUDA. Ascending.
  std::vector<std::uint32_t> carried_events;
  std::uint32_t flags = 0;  ///< number of host flags
};

}  // namespace lockstep
