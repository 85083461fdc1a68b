#include "ops/workload/step_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

/// What every rank calls, and whether it is the same on all of them.
template <class Call>
struct Calls {
  std::vector<Call> by_rank;

  [[nodiscard]] bool are_equal() const {
    return std::all_of(by_rank.begin(), by_rank.end(),
                       [&](const Call& call) { return call == by_rank.front(); });
  }
};

template <class Call, class Make>
Calls<Call> calls_of(std::size_t ranks, const Make& make) {
  Calls<Call> calls;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    calls.by_rank.push_back(make(rank));
  }
  return calls;
}

}  // namespace

StepWriter::StepWriter(const HostOverheads& host, std::size_t ranks, const FrameworkSpec& framework,
                       Precision precision)
    : program_{host},
      ranks_{ranks},
      framework_{framework},
      precision_{precision},
      compute_{program_.stream("compute")},
      backward_start_{host.backward_start},
      backward_return_{host.backward_return} {}

void StepWriter::op(std::string_view name, std::initializer_list<KernelCall> kernels) {
  program_.begin(name);
  for (const KernelCall& kernel : kernels) {
    launch(kernel);
  }
  program_.end();
}

void StepWriter::launch(const KernelCall& kernel) {
  program_.launch(compute_, kernel);
}

void StepWriter::launch_by_rank(const std::function<KernelCall(std::size_t rank)>& kernel) {
  const auto calls = calls_of<KernelCall>(ranks_, kernel);
  if (calls.are_equal()) {
    launch(calls.by_rank.front());
    return;
  }
  program_.launch_per_rank(compute_, runtime_call_of(calls.by_rank.front()));
  std::vector<std::uint32_t>& slot = kernel_slots_.emplace_back();
  for (const KernelCall& call : calls.by_rank) {
    slot.push_back(program_.intern(call));
  }
}

void StepWriter::blocking_copy(std::string_view name,
                               const std::function<KernelCall(std::size_t rank)>& copy) {
  program_.begin(name);
  launch_by_rank(copy);
  program_.wait_stream(compute_);
  program_.end();
}

void StepWriter::blocking_copy(std::string_view name, const KernelCall& copy) {
  program_.begin(name);
  launch(copy);
  program_.wait_stream(compute_);
  program_.end();
}

EventId StepWriter::communicate_with(std::string_view on, const std::function<void(StreamId stream)>& issue) {
  const StreamId stream = program_.stream(on);
  const EventId inputs = program_.event(fmt::format("inputs of communication {}", communications_));
  const EventId end = program_.event(fmt::format("end of communication {}", communications_++));
  program_.record(compute_, inputs);
  program_.stream_wait(stream, inputs);
  issue(stream);
  program_.record(stream, end);
  return end;
}

EventId StepWriter::communicate(CollectiveCall call) {
  return communicate("world", "nccl", std::move(call));
}

EventId StepWriter::communicate(const std::function<CollectiveCall(std::size_t rank, GroupId world)>& call) {
  const GroupId world = program_.group("world");
  return communicate_by_rank("world", "nccl", [&](std::size_t rank) { return call(rank, world); });
}

EventId StepWriter::communicate(std::string_view group, std::string_view stream, CollectiveCall call) {
  call.group = program_.group(group);
  return communicate_with(stream, [&](StreamId on) { program_.collective(on, call); });
}

EventId StepWriter::communicate_by_rank(std::string_view group, std::string_view stream,
                                        const std::function<CollectiveCall(std::size_t rank)>& call) {
  const GroupId id = program_.group(group);
  const auto calls = calls_of<CollectiveCall>(ranks_, [&](std::size_t rank) {
    CollectiveCall of_rank = call(rank);
    of_rank.group = id;
    return of_rank;
  });
  if (calls.are_equal()) {
    return communicate(group, stream, calls.by_rank.front());
  }
  return communicate_with(stream, [&](StreamId on) {
    program_.collective_per_rank(on);
    std::vector<std::uint32_t>& slot = collective_slots_.emplace_back();
    for (const CollectiveCall& each : calls.by_rank) {
      slot.push_back(program_.intern(each));
    }
  });
}

void StepWriter::wait_for(EventId end) {
  program_.stream_wait(compute_, end);
}

void StepWriter::on_autograd_thread(const std::function<void()>& write) {
  const ThreadId caller = program_.current_thread();
  const FlagId start = program_.flag("backward starts");
  const FlagId end = program_.flag("backward ends");
  program_.post(start);
  program_.on(program_.thread("autograd"));
  program_.await(start, backward_start_);
  write();
  program_.post(end);
  program_.on(caller);
  program_.await(end, backward_return_);
}

Job StepWriter::finish(std::span<const VertexId> gpus) && {
  Job job;
  job.programs = {std::make_shared<const Program>(std::move(program_).build())};
  const bool communicates = !job.programs.front()->groups.empty();
  if (communicates) {
    ProcessGroup& world = job.groups.emplace_back();
    world.name = "world";
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      world.ranks.push_back(static_cast<std::uint32_t>(rank));
    }
  }
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    RankAssignment& assignment = job.ranks.emplace_back();
    assignment.gpu = gpus[rank];
    assignment.groups.assign(communicates ? 1 : 0, 0);
    for (const auto& slot : kernel_slots_) {
      assignment.kernel_slots.push_back(slot[rank]);
    }
    for (const auto& slot : collective_slots_) {
      assignment.collective_slots.push_back(slot[rank]);
    }
  }
  return job;
}

}  // namespace lockstep
