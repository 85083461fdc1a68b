#include "ops/workload/step_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

/// Calls of every rank, and whether they are the same on all of them.
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
                       TensorTypes types)
    : program_{host},
      ranks_{ranks},
      framework_{framework},
      types_{types},
      compute_{program_.stream("compute")},
      current_{compute_},
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
  if (in_cuda_graph_ && std::exchange(graph_is_launched_, true)) {
    program_.launch_with_last(current_, kernel);
  } else {
    program_.launch(current_, kernel);
  }
}

void StepWriter::begin_cuda_graph() {
  in_cuda_graph_ = true;
  graph_is_launched_ = false;
}

void StepWriter::launch_by_rank(const std::function<KernelCall(std::size_t rank)>& kernel) {
  const auto calls = calls_of<KernelCall>(ranks_, kernel);
  if (calls.are_equal()) {
    launch(calls.by_rank.front());
    return;
  }
  program_.launch_per_rank(current_, runtime_call_of(calls.by_rank.front()));
  std::vector<std::uint32_t>& slot = kernel_slots_.emplace_back();
  for (const KernelCall& call : calls.by_rank) {
    slot.push_back(program_.intern(call));
  }
}

void StepWriter::blocking_copy(std::string_view name,
                               const std::function<KernelCall(std::size_t rank)>& copy) {
  program_.begin(name);
  launch_by_rank(copy);
  program_.wait_stream(current_);
  program_.end();
}

void StepWriter::blocking_copy(std::string_view name, const KernelCall& copy) {
  program_.begin(name);
  launch(copy);
  program_.wait_stream(current_);
  program_.end();
}

void StepWriter::partition(const std::string& name, std::vector<std::vector<std::uint32_t>> parts) {
  partitions_[name] = std::move(parts);
}

EventId StepWriter::end_of(std::string_view name) {
  return program_.event(fmt::format("end of {}", name));
}

/// Its record is waited for at once, so that a thread needs but one, as ProcessGroupNCCL has one a
/// communicator.
EventId StepWriter::inputs_of(std::string_view stream) {
  return program_.event(fmt::format("inputs of {} from thread {}", stream, program_.current_thread()));
}

EventId StepWriter::communicate_with(const Channel& channel,
                                     const std::function<void(StreamId stream)>& issue) {
  const StreamId stream = program_.stream(channel.stream);
  const EventId inputs = inputs_of(channel.stream);
  const EventId end = channel.name.empty() ? program_.event() : end_of(channel.name);
  program_.record(current_, inputs);
  program_.stream_wait(stream, inputs);
  issue(stream);
  program_.record(stream, end);
  return end;
}

EventId StepWriter::communicate(CollectiveCall call, const Channel& channel) {
  call.group = program_.group(channel.group);
  return communicate_with(channel, [&](StreamId stream) { program_.collective(stream, call); });
}

EventId StepWriter::communicate(const std::function<CollectiveCall(std::size_t rank, GroupId group)>& call,
                                const Channel& channel) {
  const GroupId group = program_.group(channel.group);
  const auto calls = calls_of<CollectiveCall>(ranks_, [&](std::size_t rank) { return call(rank, group); });
  if (calls.are_equal()) {
    return communicate(calls.by_rank.front(), channel);
  }
  return communicate_with(channel, [&](StreamId stream) {
    program_.collective_per_rank(stream);
    std::vector<std::uint32_t>& slot = collective_slots_.emplace_back();
    for (const CollectiveCall& each : calls.by_rank) {
      slot.push_back(program_.intern(each));
    }
  });
}

EventId StepWriter::communicate(std::string_view group, std::string_view stream, CollectiveCall call) {
  return communicate(std::move(call), {.group = group, .stream = stream});
}

EventId StepWriter::communicate_by_rank(std::string_view group, std::string_view stream,
                                        const std::function<CollectiveCall(std::size_t rank)>& call) {
  const auto of_group = [&](std::size_t rank, GroupId id) {
    CollectiveCall of_rank = call(rank);
    of_rank.group = id;
    return of_rank;
  };
  return communicate(of_group, {.group = group, .stream = stream});
}

void StepWriter::wait_for(EventId end) {
  program_.stream_wait(current_, end);
}

void StepWriter::on_autograd_thread(const std::function<void()>& write) {
  const ThreadId caller = program_.current_thread();
  const FlagId start = program_.flag("backward starts");
  const FlagId end = program_.flag("backward ends");
  program_.post(start);
  program_.on(program_.thread(kAutogradThread));
  program_.await(start, backward_start_);
  write();
  program_.post(end);
  program_.on(caller);
  program_.await(end, backward_return_);
}

std::vector<std::vector<std::uint32_t>> StepWriter::parts_of(const std::string& group) const {
  if (group != "world") {
    return partitions_.at(group);
  }
  std::vector<std::uint32_t> all(ranks_);
  std::iota(all.begin(), all.end(), 0U);
  return {std::move(all)};
}

Job StepWriter::finish(std::span<const VertexId> gpus) && {
  Job job;
  job.programs = {std::make_shared<const Program>(std::move(program_).build())};
  job.ranks.resize(ranks_);
  for (const std::string& group : job.programs.front()->groups) {
    const auto parts = parts_of(group);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const std::uint32_t rank : parts[part]) {
        job.ranks[rank].groups.push_back(static_cast<std::uint32_t>(job.groups.size()));
      }
      job.groups.push_back({parts.size() == 1 ? group : fmt::format("{} {}", group, part), parts[part]});
    }
  }
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    RankAssignment& assignment = job.ranks[rank];
    assignment.gpu = gpus[rank];
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
