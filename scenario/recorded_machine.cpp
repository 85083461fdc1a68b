#include "scenario/recorded_machine.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/yaml_reader.hpp"
#include "ops/gpu/gpu_access.hpp"
#include "scenario/machine_defaults.hpp"
#include "sim/machine.hpp"
#include "topology/peer_access.hpp"
#include "traces/kineto/recorded_steps.hpp"

namespace lockstep {
namespace {

/// GPUs on one switch: nothing of it takes part in a replay without a cluster.
Fabric switch_with(std::size_t gpus) {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  Vertex hub;
  hub.kind = VertexKind::NvSwitch;
  hub.name = "switch";
  const auto last = static_cast<VertexId>(gpus);
  for (VertexId gpu = 0; gpu < last; ++gpu) {
    Vertex vertex;
    vertex.index = static_cast<int>(gpu);
    vertex.name = fmt::format("gpu{}", gpu);
    vertices.push_back(vertex);
    Link link;
    link.bandwidth = BytesPerSecond{1e9};
    link.from = gpu;
    link.to = last;
    links.push_back(link);
    std::swap(link.from, link.to);
    links.push_back(link);
  }
  vertices.push_back(hub);
  return {std::move(vertices), std::move(links)};
}

/// Latencies and gaps are in the traces.
GpuSpec without_latencies(GpuSpec gpu) {
  gpu.launch_to_start = Seconds{0};
  gpu.kernel_gap = Seconds{0};
  return gpu;
}

}  // namespace

RecordedMachine::RecordedMachine(const ReplaySpec& spec, std::size_t ranks, const ConfigPath& configs,
                                 const SourceLocation& at)
    : fabric_{spec.cluster ? (*spec.cluster)->fabric() : switch_with(ranks)} {
  if (fabric_.gpus().size() < ranks) {
    throw InputError{at, fmt::format("cluster: it has {} GPUs for {} ranks", fabric_.gpus().size(), ranks)};
  }
  if (spec.cluster) {
    try {
      use_cluster(spec, ranks, configs);
    } catch (const std::invalid_argument& problem) {
      throw InputError{at, fmt::format("cluster: {}", problem.what())};
    }
  }
}

void RecordedMachine::use_cluster(const ReplaySpec& spec, std::size_t ranks, const ConfigPath& configs) {
  const auto gpu =
      read_file<GpuSpec>(configs.find("gpus", fabric_.vertices()[fabric_.gpus().front()].model), configs);
  fabric_ = with_peer_access(fabric_, {access_of_models(fabric_, configs),
                                       {spec.collectives.p2p_level, spec.collectives.net_gdr_level},
                                       ranks});
  auto profile =
      spec.collectives.profile
          ? **spec.collectives.profile
          : read_file<CollectiveProfile>(configs.find("profiles", usual_profile(fabric_, gpu)), configs);
  planner_.emplace(fabric_, options_of(spec.collectives, std::move(profile)));
}

RecordedMachine::~RecordedMachine() = default;

SimulationResult RecordedMachine::simulate(const Job& job, double host_factor, TimelineSink* timeline,
                                           EngineMode engine) const {
  if (engine != EngineMode::Bare && !platform_) {
    platform_ = std::make_unique<Machine>(fabric_, every_part(fabric_));
  }
  SimulationInput input;
  input.machine = platform_.get();
  input.job = &job;
  input.fabric = &fabric_;
  input.gpu_models = {without_latencies({})};
  input.gpu_model_of_rank.assign(job.ranks.size(), 0);
  input.host_factor.assign(job.ranks.size(), host_factor);
  input.plan_collective = [this](const CollectiveRequest& request, std::span<const VertexId> members) {
    return planner_->plan(request, members);
  };
  SimulationOptions options;
  options.engine = engine;
  options.launch_queue = std::numeric_limits<std::uint32_t>::max();
  options.recorded_steps = kineto::kStepPrefix;
  return lockstep::simulate(input, options, timeline);
}

}  // namespace lockstep
