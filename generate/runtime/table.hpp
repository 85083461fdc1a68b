#pragma once

/// @file
/// The operation table (`operations.txt`): all that the program does, as text that people can read. Lockstep
/// reads it with the same code to simulate what it has written.

#include <cstdint>
#include <istream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace benchmark {

/// Reports a line of the table that cannot be read.
struct TableError : std::runtime_error {
  TableError(int number, const std::string& message) : std::runtime_error{message}, line{number} {}
  int line;  ///< counted from 1
};

using Fields = std::map<std::string, double>;

/// One kernel with its sizes: `call gemm bf16 m=512 n=1024 k=64`.
struct Call {
  std::string work, type;
  Fields fields;
  std::vector<Fields> tables;  ///< of embeddings
  [[nodiscard]] double number(const std::string& field, double otherwise = 0) const;
  [[nodiscard]] std::int64_t integer(const std::string& field, std::int64_t otherwise = 0) const {
    return static_cast<std::int64_t>(number(field, static_cast<double>(otherwise)));
  }
};

/// The work of one launch.
struct Kernel {
  std::string backend;          ///< library, own, operator, busy, part (of the launch before), skipped
  bool recorded = false;        ///< the source says its time; else a model does
  double seconds = 0;           ///< expected
  double bytes = 0, flops = 0;  ///< of its calls
  double delay = 0;             ///< s that its stream rests after it; of a busy kernel also less than 0
  int graph = -1;               ///< CUDA graph of its program that launches it; -1: none
  std::string family, name;
  std::vector<Call> calls;
  std::vector<std::uint32_t> reads, writes;  ///< of Program::views
};

/// A view is the part of the planned memory that a kernel sees, bytes.
struct View {
  std::int64_t place = 0, bytes = 0;
};

struct Collective {
  std::string kind, type;
  std::uint32_t group = 0;  ///< index into Program::groups
  double bytes = 0;         ///< as nccl-tests count them
  int peer = 0;
  bool batched = false;
  int sm_limit = 0;                ///< 0: none
  double recorded = -1;            ///< s; below 0: the machine says how long
  double delay = 0;                ///< s that the missing members of a group would have taken
  std::vector<double> send_bytes;  ///< uneven all-to-all: to each member
};

enum class Opcode : std::uint8_t {
  Host,
  Open,
  Close,
  Launch,
  Collective,
  Record,
  StreamWait,
  WaitEvent,
  WaitStream,
  WaitDevice,
  Post,
  Await,
  Lag
};

struct Instruction {
  Opcode op = Opcode::Host;
  std::uint8_t stream = 0;
  bool per_rank = false;  ///< operand is a slot of the rank
  std::uint32_t operand = 0;
  float lead = 0, cost = 0;  ///< s of the host: before the call, and of it
};

struct Thread {
  std::string name;
  std::vector<Instruction> instructions;
};

struct Program {
  std::vector<std::string> streams, groups, names;
  std::int64_t memory = 0;  ///< bytes that the views lie in
  std::vector<View> views;
  std::vector<Kernel> kernels;
  std::vector<Collective> collectives;
  std::vector<Thread> threads;
  std::uint32_t events = 0, flags = 0;
  std::vector<std::uint32_t> carried_events;
};

struct Group {
  std::string name;
  std::vector<std::uint32_t> ranks;
};

struct Rank {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> groups, kernel_slots, collective_slots;
};

struct Table {
  std::uint32_t seed = 1;
  int job_steps = 1;          ///< that the source has
  int steps = 20;             ///< that the program measures
  bool host_recorded = true;  ///< host time is spent as recorded; else launches follow each other at once
  std::vector<Program> programs;
  std::vector<Group> groups;
  std::vector<Rank> ranks;
};

/// The names of the instructions, by Opcode.
[[nodiscard]] const std::vector<std::string>& opcode_names();

/// @throws TableError
[[nodiscard]] Table read_table(std::istream& text);

}  // namespace benchmark
