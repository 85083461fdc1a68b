#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ops/job.hpp"
#include "ops/program_builder.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/precision.hpp"

namespace lockstep {

/// Writes one training step that several ranks execute: one Program, with slots where they differ. Layers add
/// their operators through it.
class StepWriter {
 public:
  /// @param ranks how many ranks run the Program, >= 1
  StepWriter(const HostOverheads& host, std::size_t ranks, const FrameworkSpec& framework,
             Precision precision);

  [[nodiscard]] ProgramBuilder& program() { return program_; }
  [[nodiscard]] const FrameworkSpec& framework() const { return framework_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  [[nodiscard]] StreamId compute() const { return compute_; }

  /// An operator that launches @p kernels on the compute stream, or none (views, bookkeeping).
  void op(std::string_view name, std::initializer_list<KernelCall> kernels = {});

  /// Within an open operator: a kernel on the compute stream.
  void launch(const KernelCall& kernel);
  /// Likewise, when it depends on the rank.
  void launch_by_rank(const std::function<KernelCall(std::size_t rank)>& kernel);

  /// A copy that returns only when it, and everything before it on the compute stream, has ended:
  /// Tensor.to() without non_blocking, .cpu(), .item().
  void blocking_copy(std::string_view name, const std::function<KernelCall(std::size_t rank)>& copy);
  void blocking_copy(std::string_view name, const KernelCall& copy);

  /// Starts a collective of all ranks on the communication stream, after what the compute stream holds so
  /// far. @return the event of its end
  EventId communicate(const std::function<CollectiveCall(std::size_t rank, GroupId world)>& call);
  /// Likewise, when all ranks call the same; the group is filled in.
  EventId communicate(CollectiveCall call);
  /// Starts a collective of the group named @p group on the stream named @p stream, after what the compute
  /// stream holds so far. @return the event of its end
  EventId communicate(std::string_view group, std::string_view stream, CollectiveCall call);
  /// Likewise, when the call depends on the rank; the group is filled in.
  EventId communicate_by_rank(std::string_view group, std::string_view stream,
                              const std::function<CollectiveCall(std::size_t rank)>& call);
  /// Lets the compute stream wait for such an event (Work::wait(), which does not block the host).
  void wait_for(EventId end);

  /// Runs @p write on the autograd thread while the main thread waits, as Tensor.backward() does.
  void on_autograd_thread(const std::function<void()>& write);

  /// The Program, for jobs of several.
  [[nodiscard]] Program take_program() { return std::move(program_).build(); }
  /// By slot and rank: indices into Program::collectives.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& collective_slots() const {
    return collective_slots_;
  }

  /// The Job of this step, one rank per GPU. @param gpus as many as ranks
  [[nodiscard]] Job finish(std::span<const VertexId> gpus) &&;

 private:
  EventId communicate_with(std::string_view on, const std::function<void(StreamId stream)>& issue);

  ProgramBuilder program_;
  std::size_t ranks_;
  FrameworkSpec framework_;
  Precision precision_;
  StreamId compute_;
  Seconds backward_start_;
  Seconds backward_return_;
  int communications_ = 0;
  std::vector<std::vector<std::uint32_t>> kernel_slots_, collective_slots_;  // by slot and rank
};

/// A range for as long as the object lives: module names and phases.
class ModuleRange {
 public:
  ModuleRange(StepWriter& step, std::string_view name) : step_{step} { step_.program().begin_range(name); }
  ~ModuleRange() { step_.program().end_range(); }
  ModuleRange(const ModuleRange&) = delete;
  ModuleRange& operator=(const ModuleRange&) = delete;

 private:
  StepWriter& step_;
};

}  // namespace lockstep
