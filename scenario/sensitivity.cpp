#include "scenario/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "base/forked_tasks.hpp"
#include "ops/workload/workload.hpp"
#include "scenario/outcome.hpp"

namespace lockstep {
namespace {

constexpr double kMore = 1.1;
constexpr double kLess = 0.9;

struct Resource {
  std::string name;
  std::function<void(ResolvedScenario&)> improve;
};

using IsOfClass = bool (*)(const Fabric&, const Link&);

bool joins_switches(const Fabric& fabric, const Link& link) {
  return is_network_switch(fabric.vertices()[link.from].kind) &&
         is_network_switch(fabric.vertices()[link.to].kind);
}

template <LinkKind kKind>
bool is_of_kind(const Fabric& /*fabric*/, const Link& link) {
  return link.kind == kKind;
}

bool is_of_nic(const Fabric& fabric, const Link& link) {
  return link.kind == LinkKind::Network && !joins_switches(fabric, link);
}

bool is_uplink(const Fabric& fabric, const Link& link) {
  return link.kind == LinkKind::Network && joins_switches(fabric, link);
}

Fabric with_faster(const Fabric& fabric, IsOfClass is_of_class) {
  std::vector<Link> links{fabric.links().begin(), fabric.links().end()};
  for (Link& link : links) {
    if (is_of_class(fabric, link)) {
      link.bandwidth = link.bandwidth * kMore;
    }
  }
  return Fabric::in_order_of(fabric, {fabric.vertices().begin(), fabric.vertices().end()}, std::move(links));
}

void raise_bus_bandwidth(CollectiveProfile& profile) {
  for (AlgorithmCosts* algorithm : {&profile.ring, &profile.tree, &profile.direct, &profile.hierarchical,
                                    &profile.nvls, &profile.nvls_tree, &profile.pat}) {
    for (std::optional<ProtocolCosts>* costs : {&algorithm->ll, &algorithm->ll128, &algorithm->simple}) {
      if (*costs && (*costs)->max_bus_bandwidth) {
        (*costs)->max_bus_bandwidth = *(*costs)->max_bus_bandwidth * kMore;
      }
    }
  }
}

void speed_up_compute(ResolvedScenario& resolved) {
  for (GpuSpec& gpu : resolved.gpu_models) {
    PeakThroughput& peak = gpu.peak;
    for (FlopsPerSecond* rate : {&peak.fp32, &peak.tf32, &peak.fp16, &peak.bf16, &peak.fp8}) {
      *rate = *rate * kMore;
    }
  }
}

void speed_up_memory(ResolvedScenario& resolved) {
  for (GpuSpec& gpu : resolved.gpu_models) {
    gpu.memory_bandwidth = gpu.memory_bandwidth * kMore;
  }
}

void speed_up_copies(ResolvedScenario& resolved) {
  for (GpuSpec& gpu : resolved.gpu_models) {
    gpu.host_copy.pinned = gpu.host_copy.pinned * kMore;
    gpu.host_copy.pageable = gpu.host_copy.pageable * kMore;
  }
}

bool updates_on_host(const ResolvedScenario& resolved) {
  return resolved.scenario.workload && resolved.scenario.parallelism.transformer.offload != Offload::None;
}

Fabric with_host_memory(const Fabric& fabric, double factor) {
  std::vector<Vertex> vertices{fabric.vertices().begin(), fabric.vertices().end()};
  std::vector<Link> links{fabric.links().begin(), fabric.links().end()};
  for (Vertex& vertex : vertices) {
    vertex.memory_bandwidth = vertex.memory_bandwidth * factor;
  }
  for (Link& link : links) {
    link.bandwidth = link.bandwidth * (link.kind == LinkKind::HostMemory ? factor : 1);
  }
  return Fabric::in_order_of(fabric, std::move(vertices), std::move(links));
}

/// Optimizers on the host are as fast as its memory, which is @p factor times as fast.
void rewrite_host_updates(ResolvedScenario& resolved, double factor) {
  if (!updates_on_host(resolved)) {
    return;
  }
  std::vector<Bytes> memory(resolved.fabric.gpus().size(), resolved.gpu_models.front().usable());
  for (std::size_t rank = 0; rank < resolved.gpu_model_of_rank.size(); ++rank) {
    memory[rank] = resolved.gpu_models[resolved.gpu_model_of_rank[rank]].usable();
  }
  const int steps = resolved.job.steps;
  resolved.job = make_job(*resolved.scenario.workload, resolved.scenario.parallelism,
                          with_host_memory(resolved.fabric, factor), resolved.host.at_speed(), memory);
  resolved.job.steps = steps;
}

void speed_up_host_memory(ResolvedScenario& resolved) {
  rewrite_host_updates(resolved, kMore);
  resolved.fabric = with_host_memory(resolved.fabric, kMore);
}

void speed_up_launches(ResolvedScenario& resolved) {
  rewrite_host_updates(resolved, kLess);  // they take as long as before when all host times are shorter
  resolved.host_scale *= kLess;
  for (GpuSpec& gpu : resolved.gpu_models) {
    gpu.launch_to_start = gpu.launch_to_start * kLess;
    gpu.kernel_gap = gpu.kernel_gap * kLess;
  }
}

struct LinkResource {
  const char* name;
  IsOfClass is_of_class;
  void (*besides)(ResolvedScenario&);  ///< what gets faster with these links; null: nothing
};

std::vector<Resource> resources_of(const ResolvedScenario& resolved) {
  static const std::vector<LinkResource> link_resources{
      {"NVLink bandwidth", is_of_kind<LinkKind::NvLink>,
       [](ResolvedScenario& faster) { raise_bus_bandwidth(faster.profile); }},
      {"PCIe bandwidth", is_of_kind<LinkKind::Pcie>, speed_up_copies},
      {"socket link bandwidth", is_of_kind<LinkKind::Socket>, nullptr},
      {"NIC bandwidth", is_of_nic, nullptr},
      {"uplink bandwidth", is_uplink, nullptr}};
  std::vector<Resource> resources{{"compute peak", speed_up_compute}, {"memory bandwidth", speed_up_memory}};
  for (const LinkResource& of_links : link_resources) {
    if (std::ranges::any_of(resolved.fabric.links(),
                            [&](const Link& link) { return of_links.is_of_class(resolved.fabric, link); })) {
      resources.push_back({of_links.name, [&of_links](ResolvedScenario& faster) {
                             faster.fabric = with_faster(faster.fabric, of_links.is_of_class);
                             if (of_links.besides != nullptr) {
                               of_links.besides(faster);
                             }
                           }});
    }
  }
  if (updates_on_host(resolved) || std::ranges::any_of(resolved.fabric.links(), [](const Link& link) {
        return link.kind == LinkKind::HostMemory;
      })) {
    resources.push_back({"host memory bandwidth", speed_up_host_memory});
  }
  resources.push_back({"host and launch overhead (10 % less)", speed_up_launches});
  return resources;
}

/// In a child: prints the step time to the last bit.
int simulate_improved(ResolvedScenario& resolved, const Resource& resource) {
  const Outcome outcome = outcome_of([&] {
    resource.improve(resolved);
    fmt::print("{:a}", predict(resolved, nullptr).mean_step().in_base_units());
    return kExitOk;
  });
  fmt::print(stderr, "{}", outcome.message);
  return outcome.exit_code;
}

}  // namespace

std::vector<ImprovedStep> improved_steps(ResolvedScenario& resolved, int jobs) {
  const std::vector<Resource> resources = resources_of(resolved);
  std::vector<ImprovedStep> steps;
  for (const Resource& resource : resources) {
    steps.push_back({resource.name, 0, {}});
  }
  int interruption = 0;
  {
    ForkedTasks children;
    std::size_t next = 0;
    while ((next < resources.size() || children.running() > 0) && children.interruption() == 0) {
      while (next < resources.size() && children.running() < static_cast<std::size_t>(jobs)) {
        children.start(next, [&, next] { return simulate_improved(resolved, resources[next]); });
        ++next;
      }
      for (const EndedTask& ended : children.wait(std::chrono::seconds{1})) {
        steps[ended.task].step_time = std::strtod(ended.printed.c_str(), nullptr);
        if (ended.exit_code != kExitOk) {
          steps[ended.task].failure = fmt::format("exit code {}: {}", ended.exit_code, ended.said);
        }
      }
    }
    interruption = children.interruption();
  }
  if (interruption != 0) {
    end_by(interruption);
  }
  return steps;
}

Sensitivity gains_over(Seconds step, const std::vector<ImprovedStep>& improved) {
  Sensitivity gains;
  for (const ImprovedStep& each : improved) {
    if (!each.failure.empty()) {
      throw std::runtime_error{
          fmt::format("the step with more {} could not be simulated: {}", each.resource, each.failure)};
    }
    gains.push_back({each.resource, each.step_time, 1 - each.step_time / step.in_base_units()});
  }
  std::ranges::stable_sort(gains, std::ranges::greater{}, &ResourceGain::gain);
  return gains;
}

}  // namespace lockstep
