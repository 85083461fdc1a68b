#include "traces/pipeline/step_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "ops/host_overhead.hpp"
#include "ops/program_builder.hpp"
#include "sim/simulation.hpp"

namespace lockstep::pipeline {
namespace {

/// A host whose calls take no time: what a call costs is in the recorded times.
HostOverheads free_host() {
  HostOverheads host;
  host.name = "recorded";
  host.runtime_calls[RuntimeCall::LaunchKernel] = Seconds{0};
  return host;
}

std::string group_name(const std::vector<std::uint32_t>& workers) {
  std::string name = "workers";
  for (const std::uint32_t worker : workers) {
    name += fmt::format(" {}", worker);
  }
  return name;
}

/// Writes a worker's Program.
class WorkerProgram {
 public:
  WorkerProgram(const Timeline& timeline, const StepOrder& order, std::span<const double> seconds)
      : timeline_{timeline}, order_{order}, seconds_{seconds} {}

  Program write(const std::vector<Task>& tasks, bool with_delays) && {
    for (std::uint32_t number = 0; number < tasks.size(); ++number) {
      const Task& task = tasks[number];
      const std::string& lane = timeline_.lanes[task.lane];
      builder_.on(builder_.thread(lane));
      for (const std::uint32_t awaited : task.after) {
        builder_.await(builder_.flag(fmt::format("{}", awaited)));
      }
      if (with_delays && task.delay > 0) {
        builder_.host_work("delay", Seconds{task.delay});
      }
      perform(task, builder_.stream(lane));
      if (task.awaited) {
        builder_.post(builder_.flag(fmt::format("{}", number)));
      }
    }
    return std::move(builder_).build();
  }

 private:
  void perform(const Task& task, StreamId stream) {
    for (const std::uint32_t meeting : task.meetings) {
      CollectiveCall call;
      call.kind = CollectiveKind::Barrier;
      call.group = builder_.group(group_name(order_.meetings[meeting].workers));
      builder_.collective(stream, call);
    }
    const auto longest =
        *std::max_element(task.operations.begin(), task.operations.end(),
                          [&](std::uint32_t a, std::uint32_t b) { return seconds_[a] < seconds_[b]; });
    builder_.launch(
        stream, {order_.operations[longest].type->name, DataType::FP32, Timed{Seconds{seconds_[longest]}}});
    builder_.wait_stream(stream);
  }

  const Timeline& timeline_;
  const StepOrder& order_;
  std::span<const double> seconds_;
  ProgramBuilder builder_{free_host()};
};

/// Every set of workers that meets, by its name.
std::vector<ProcessGroup> groups_of(const StepOrder& order) {
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const Meeting& meeting : order.meetings) {
    groups.emplace(group_name(meeting.workers), meeting.workers);
  }
  std::vector<ProcessGroup> list;
  for (auto& [name, workers] : groups) {
    list.push_back({name, std::move(workers)});
  }
  return list;
}

}  // namespace

Fabric machine_of(std::size_t workers) {
  std::vector<Vertex> vertices{{VertexKind::NvSwitch, 0, 0, "switch", ""}};
  std::vector<Link> links;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto gpu = static_cast<VertexId>(vertices.size());
    const std::string name = fmt::format("gpu{}", worker);
    vertices.push_back({VertexKind::Gpu, 0, static_cast<int>(worker), name, "recorded"});
    for (const auto& [from, to] : {std::pair{gpu, VertexId{0}}, std::pair{VertexId{0}, gpu}}) {
      links.push_back({from, to, LinkKind::NvLink, BytesPerSecond{1}, Seconds{0},
                       fmt::format("{}->{}", vertices[from].name, vertices[to].name)});
    }
  }
  return {std::move(vertices), std::move(links)};
}

PlanCollective meetings_take_no_time() {
  return [](const CollectiveRequest& /*request*/, std::span<const VertexId> /*members*/) {
    CollectivePlan plan;
    plan.algorithm = "recorded";
    plan.provenance = Provenance::Measured;
    return plan;
  };
}

Job step_job(const Timeline& timeline, const StepOrder& order, std::span<const double> seconds,
             bool with_delays, std::span<const VertexId> gpus) {
  Job job;
  job.groups = groups_of(order);
  for (std::uint32_t worker = 0; worker < order.tasks.size(); ++worker) {
    Program program = WorkerProgram{timeline, order, seconds}.write(order.tasks[worker], with_delays);
    RankAssignment rank;
    rank.gpu = gpus[worker];
    rank.program = worker;
    for (const std::string& name : program.groups) {
      const auto group = std::find_if(job.groups.begin(), job.groups.end(),
                                      [&](const ProcessGroup& one) { return one.name == name; });
      rank.groups.push_back(static_cast<std::uint32_t>(group - job.groups.begin()));
    }
    job.programs.push_back(std::make_shared<const Program>(std::move(program)));
    job.ranks.push_back(std::move(rank));
  }
  return job;
}

double step_seconds(const Timeline& timeline, const StepOrder& order, std::span<const double> seconds,
                    bool with_delays) {
  const Fabric fabric = machine_of(timeline.workers.size());
  const Job job = step_job(timeline, order, seconds, with_delays, fabric.gpus());
  check(job);
  SimulationInput input;
  input.job = &job;
  input.fabric = &fabric;
  input.gpu_models.resize(1);
  input.gpu_model_of_rank.assign(job.ranks.size(), 0);
  input.plan_collective = meetings_take_no_time();
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  options.critical_path_limit = 0;
  options.metered_ranks = 0;
  return simulate(input, options, nullptr).makespan().in_base_units();
}

}  // namespace lockstep::pipeline
