#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ops/host_overhead.hpp"
#include "ops/program.hpp"

namespace lockstep {

using ThreadId = std::uint8_t;
using StreamId = std::uint8_t;
using GroupId = std::uint32_t;
using EventId = std::uint32_t;
using FlagId = std::uint32_t;

/// Writes one rank's Program in the order in which its host threads would execute it, charging host overheads
/// as it goes: T1 before an operator, T2 before its first launch, T4 for each launch, T5 between launches, T3
/// after the last.
///
///   ProgramBuilder rank{host};
///   const auto compute = rank.stream("compute");
///   rank.begin("aten::addmm");
///   rank.launch(compute, {"sgemm", DataType::FP32, Gemm{1, m, n, k}});
///   rank.end();
class ProgramBuilder {
 public:
  explicit ProgramBuilder(HostOverheads host);

  /// The id of a thread, stream, group, event or flag of that name, new or known.
  ThreadId thread(std::string_view name);
  StreamId stream(std::string_view name);
  GroupId group(std::string_view name);
  EventId event(std::string_view name);
  FlagId flag(std::string_view name);

  /// What follows is executed by @p thread (the first thread until told otherwise).
  void on(ThreadId thread);

  /// Opens and closes an operator: a range that charges T1, T2/T5 (on launches) and T3. Nested operators
  /// charge no T1.
  void begin(std::string_view operator_name);
  void end();

  /// Opens and closes a range that charges nothing: a module, a phase, a step.
  void begin_range(std::string_view name);
  void end_range();

  /// CPU time that belongs to no operator overhead: data loading, Python.
  void host_work(std::string_view name, Seconds duration);

  void launch(StreamId stream, const KernelCall& kernel);
  void collective(StreamId stream, const CollectiveCall& call);

  /// A launch whose kernel differs by rank. Returns its slot: fill RankAssignment::kernel_slots[slot] with
  /// intern(kernel) for every rank. Likewise for collectives.
  std::uint32_t launch_per_rank(StreamId stream);
  std::uint32_t collective_per_rank(StreamId stream);
  std::uint32_t intern(const KernelCall& kernel);
  std::uint32_t intern(const CollectiveCall& call);

  void record(StreamId stream, EventId event);       ///< cudaEventRecord
  void stream_wait(StreamId stream, EventId event);  ///< cudaStreamWaitEvent
  void wait_event(EventId event);                    ///< cudaEventSynchronize
  void wait_stream(StreamId stream);                 ///< cudaStreamSynchronize, .item(), blocking copies
  void wait_device();                                ///< cudaDeviceSynchronize
  void post(FlagId flag);                            ///< lets a thread that awaits the flag go on
  void await(FlagId flag);

  [[nodiscard]] const HostOverheads& host() const { return host_; }

  /// The finished Program. @throws std::logic_error when a range is still open
  [[nodiscard]] Program build() &&;

 private:
  struct Scope;
  void append(Instruction instruction);
  [[nodiscard]] float lead_of_launch();

  HostOverheads host_;
  Program program_;
  ThreadId current_ = 0;
  std::vector<std::vector<Scope>> open_;  // per thread
  std::vector<double> pending_lead_;      // per thread: host time charged to the next instruction
  std::map<std::string, std::uint32_t, std::less<>> events_, flags_, name_ids_;
  std::multimap<std::size_t, std::uint32_t> kernel_ids_, collective_ids_;  // by hash
  std::uint32_t kernel_slots_ = 0, collective_slots_ = 0;
};

}  // namespace lockstep
