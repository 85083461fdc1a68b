#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/call_hash.hpp"
#include "ops/host_overhead.hpp"
#include "ops/intern_table.hpp"
#include "ops/program.hpp"

namespace lockstep {

using ThreadId = std::uint8_t;
using StreamId = std::uint8_t;
using GroupId = std::uint32_t;
using EventId = std::uint32_t;
using FlagId = std::uint32_t;

/// The runtime call that launches @p kernel.
[[nodiscard]] RuntimeCall runtime_call_of(const KernelCall& kernel);

/// The thread of that name runs autograd's nodes, without Python (HostOverheads::between_operators).
inline constexpr std::string_view kAutogradThread = "autograd";

/// Writes one rank's Program in the order in which its host threads would execute it, charging host overheads
/// as it goes: T1 before an operator, T2 before its first launch, T4 for each launch, T5 between launches, T3
/// after the last. Collectives and blocking calls count as launches; event calls cost only their T4.
///
///   ProgramBuilder rank{host};
///   const auto compute = rank.stream("compute");
///   rank.begin("aten::addmm");
///   rank.launch(compute, {"sgemm", DataType::FP32, Gemm{1, m, n, k}});
///   rank.end();
class ProgramBuilder {
 public:
  explicit ProgramBuilder(HostOverheads host);

  /// The id of a thread, stream, group, event or flag of that name, new or known. Thread 0 is `main`.
  /// @throws std::length_error beyond 256 threads or streams
  ThreadId thread(std::string_view name);
  StreamId stream(std::string_view name);
  GroupId group(std::string_view name);
  EventId event(std::string_view name);
  EventId event();  ///< a new one, without a name
  FlagId flag(std::string_view name);

  /// Selects @p thread to execute what follows (`main` until told otherwise).
  void on(ThreadId thread);
  [[nodiscard]] ThreadId current_thread() const { return current_; }

  /// Opens and closes an operator: a range that charges T1, T2/T5 (on launches) and T3, or the duration
  /// without launches. A nested operator is a range that charges nothing: the outermost operator's overheads
  /// were measured from its own begin to its own end and hold those of its children.
  /// @throws std::logic_error from end() and end_range() when the innermost open one is of the other kind
  void begin(std::string_view operator_name);
  void end();

  /// Opens and closes a range that charges nothing: a module, a phase, a step.
  void begin_range(std::string_view name);
  void end_range();

  /// Closes a range for the destructor of the object that opened it: as end() or end_range(), but never
  /// throws. A program that an exception leaves half written stays so; build() reports a mistake of ours.
  void end_scope(bool is_operator) noexcept;

  /// CPU time that belongs to no operator overhead: data loading, Python.
  void host_work(std::string_view name, Seconds duration);

  /// The current thread's position: the number of its instructions so far.
  [[nodiscard]] std::size_t position() const;
  /// Writes once more what the current thread does from position @p first to before @p last.
  /// @param behind about as many instructions will come after it, so that memory is taken once
  /// @throws std::logic_error within an operator, whose launches it would not count
  void repeat(std::size_t first, std::size_t last, std::size_t behind = 0);

  void launch(StreamId stream, const KernelCall& kernel);
  /// A kernel that the last launch brought along, in a CUDA graph: costs the host nothing.
  void launch_with_last(StreamId stream, const KernelCall& kernel);
  void collective(StreamId stream, const CollectiveCall& call);

  /// A launch whose kernel differs by rank. Returns its slot: fill RankAssignment::kernel_slots[slot] with
  /// intern(kernel) for every rank. Likewise for collectives.
  /// @param call what the host calls: the same on every rank, whatever the kernels are
  std::uint32_t launch_per_rank(StreamId stream, RuntimeCall call = RuntimeCall::LaunchKernel);
  std::uint32_t collective_per_rank(StreamId stream);
  std::uint32_t intern(const KernelCall& kernel);
  std::uint32_t intern(const CollectiveCall& call);

  void record(StreamId stream, EventId event);  ///< cudaEventRecord
  /// Lets a thread wait for @p event before it records it: for the record of the step before (prefetching).
  void carry(EventId event);
  void stream_wait(StreamId stream, EventId event);       ///< cudaStreamWaitEvent
  void wait_event(EventId event);                         ///< cudaEventSynchronize
  void wait_stream(StreamId stream);                      ///< cudaStreamSynchronize, .item(), blocking copies
  void wait_device();                                     ///< cudaDeviceSynchronize
  void post(FlagId flag);                                 ///< lets a thread that awaits the flag go on
  void await(FlagId flag, Seconds wake_up = Seconds{0});  ///< wake_up: from the post until the thread goes on

  [[nodiscard]] const HostOverheads& host() const { return host_; }

  /// The finished Program. @throws std::logic_error when a range is still open or end_scope() closed another
  [[nodiscard]] Program build() &&;

 private:
  struct Scope {
    bool is_operator = false;
    bool charges = false;       // the outermost operator, whose overheads count
    OperatorOverhead overhead;  // of the outermost operator
    int launches = 0;           // made within it so far
  };

  void append(Opcode op, std::uint32_t operand, double lead, double cost, StreamId stream = 0,
              bool per_rank = false);
  void append_launch(Opcode op, StreamId stream, std::uint32_t operand, RuntimeCall call, bool per_rank);
  void append_wait(Opcode op, StreamId stream, std::uint32_t operand);
  void close(bool expect_operator);
  [[nodiscard]] Scope* charging_scope();
  [[nodiscard]] Seconds gap_before_launch();
  [[nodiscard]] std::uint32_t name(std::string_view text);

  HostOverheads host_;
  Program program_;
  ThreadId current_ = 0;
  std::vector<std::vector<Scope>> open_;  // by thread
  bool is_misnested_ = false;
  std::map<std::string, std::uint32_t, std::less<>> events_, flags_, name_ids_;
  InternTable<KernelCall, &hash_of> kernels_;
  InternTable<CollectiveCall, &hash_of> collectives_;
  std::uint32_t kernel_slots_ = 0, collective_slots_ = 0, event_count_ = 0;
};

}  // namespace lockstep
