#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/job.hpp"
#include "ops/program_builder.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/precision.hpp"

namespace lockstep {

/// Ranks that communicate, their stream, and a name by which the end can be waited for before it is
/// written.
struct Channel {
  std::string_view group = "world";  ///< or a partition (StepWriter::partition), or as the caller forms them
  std::string_view stream = "nccl";
  std::string_view name = {};  ///< left out: none
};

/// Writes one training step that several ranks execute: one Program, with slots where they differ. Layers add
/// their operators through it.
class StepWriter {
 public:
  /// @param ranks how many ranks run the Program, >= 1
  StepWriter(const HostOverheads& host, std::size_t ranks, const FrameworkSpec& framework, TensorTypes types);

  [[nodiscard]] ProgramBuilder& program() { return program_; }
  [[nodiscard]] const FrameworkSpec& framework() const { return framework_; }
  [[nodiscard]] TensorTypes types() const { return types_; }
  [[nodiscard]] Precision precision() const { return types_.precision; }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  [[nodiscard]] StreamId compute() const { return compute_; }
  /// The stream where operators launch: the compute stream, unless a StreamScope says otherwise.
  [[nodiscard]] StreamId current() const { return current_; }

  /// Names the parts into which process groups of that name split the ranks: each rank is in one of them.
  void partition(const std::string& name, std::vector<std::vector<std::uint32_t>> parts);

  /// An operator that launches @p kernels on the current stream, or none (views, bookkeeping).
  void op(std::string_view name, std::initializer_list<KernelCall> kernels = {});

  /// Within an open operator: a kernel on the current stream.
  void launch(const KernelCall& kernel);
  /// Until the end: kernels of one CUDA graph, of which the host launches the first for all.
  void begin_cuda_graph();
  void end_cuda_graph() { in_cuda_graph_ = false; }
  /// Launches a kernel that depends on the rank.
  void launch_by_rank(const std::function<KernelCall(std::size_t rank)>& kernel);

  /// A copy that returns only when it, and everything before it on the current stream, has ended:
  /// Tensor.to() without non_blocking, .cpu(), .item().
  void blocking_copy(std::string_view name, const std::function<KernelCall(std::size_t rank)>& copy);
  void blocking_copy(std::string_view name, const KernelCall& copy);

  /// Starts a collective of a group on a communication stream, after what the current stream holds so far.
  /// @return the event of its end
  EventId communicate(const std::function<CollectiveCall(std::size_t rank, GroupId group)>& call,
                      const Channel& channel = {});
  /// The same, when all ranks call the same; the group is filled in.
  EventId communicate(CollectiveCall call, const Channel& channel = {});
  EventId communicate(std::string_view group, std::string_view stream, CollectiveCall call);
  /// The same, when the call depends on the rank; the group is filled in.
  EventId communicate_by_rank(std::string_view group, std::string_view stream,
                              const std::function<CollectiveCall(std::size_t rank)>& call);
  /// The event of the end of the communication of that name.
  EventId end_of(std::string_view name);
  /// Lets the current stream wait for such an event (Work::wait(), which does not block the host).
  void wait_for(EventId end);

  /// Runs @p write on the autograd thread while the main thread waits, as Tensor.backward() does.
  void on_autograd_thread(const std::function<void()>& write);

  /// The Program, for jobs of several.
  [[nodiscard]] Program take_program() { return std::move(program_).build(); }
  /// Indices into Program::kernels and Program::collectives, by slot and rank.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& kernel_slots() const { return kernel_slots_; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& collective_slots() const {
    return collective_slots_;
  }

  /// The Job of this step, one rank per GPU. @param gpus as many as ranks
  [[nodiscard]] Job finish(std::span<const VertexId> gpus) &&;

 private:
  friend class StreamScope;
  EventId inputs_of(std::string_view stream);
  EventId communicate_with(const Channel& channel, const std::function<void(StreamId stream)>& issue);
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> parts_of(const std::string& group) const;

  ProgramBuilder program_;
  std::size_t ranks_;
  FrameworkSpec framework_;
  TensorTypes types_;
  StreamId compute_, current_;
  Seconds backward_start_;
  Seconds backward_return_;
  bool in_cuda_graph_ = false, graph_is_launched_ = false;
  std::map<std::string, std::vector<std::vector<std::uint32_t>>> partitions_;
  std::vector<std::vector<std::uint32_t>> kernel_slots_, collective_slots_;  // by slot and rank
};

/// Another current stream for as long as the object lives: `with torch.cuda.stream(s):`.
class StreamScope {
 public:
  StreamScope(StepWriter& step, std::string_view stream) : step_{step}, before_{step.current_} {
    step_.current_ = step_.program().stream(stream);
  }
  ~StreamScope() { step_.current_ = before_; }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  StepWriter& step_;
  StreamId before_;
};

/// A range for as long as the object lives: module names and phases.
class ModuleRange {
 public:
  ModuleRange(StepWriter& step, std::string_view name) : step_{step} { step_.program().begin_range(name); }
  ~ModuleRange() { step_.program().end_scope(false); }
  ModuleRange(const ModuleRange&) = delete;
  ModuleRange& operator=(const ModuleRange&) = delete;

 private:
  StepWriter& step_;
};

}  // namespace lockstep
