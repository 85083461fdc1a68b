#include "scenario/memory_demand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "topology/host_memory.hpp"

namespace lockstep {

MemoryBreakdown beside_job(const MemorySpec& spec, const MemoryBreakdown& peak) {
  MemoryBreakdown beside;
  beside[MemoryUse::Fragmentation] = (peak.total() * spec.fragmentation).in_base_units();
  beside[MemoryUse::Context] = spec.context.in_base_units();
  return beside;
}

std::optional<FullestRank> fullest_rank(const ResolvedScenario& resolved) {
  std::optional<FullestRank> fullest;
  const Job& job = resolved.job;
  for (std::uint32_t rank = 0; rank < job.ranks.size() && !job.memory.empty(); ++rank) {
    const GpuSpec& gpu = resolved.gpu_models[resolved.gpu_model_of_rank[rank]];
    const FullestRank candidate{rank, gpu.name, job.memory[job.ranks[rank].memory], gpu.usable(), gpu.memory};
    if (!fullest || candidate.share() > fullest->share()) {
      fullest = candidate;
    }
  }
  if (fullest) {
    const MemoryBreakdown beside = beside_job(resolved.scenario.memory, fullest->memory);
    fullest->memory[MemoryUse::Fragmentation] = beside[MemoryUse::Fragmentation];
    fullest->memory[MemoryUse::Context] = beside[MemoryUse::Context];
  }
  return fullest;
}

std::optional<FullestHost> fullest_host(const ResolvedScenario& resolved) {
  const Job& job = resolved.job;
  std::map<int, MemoryBreakdown> by_node;
  for (std::size_t rank = 0; rank < job.ranks.size() && !job.host_memory.empty(); ++rank) {
    MemoryBreakdown& node = by_node[resolved.fabric.vertices()[job.ranks[rank].gpu].node];
    const MemoryBreakdown& of_rank = job.host_memory[job.ranks[rank].memory];
    std::transform(node.bytes.begin(), node.bytes.end(), of_rank.bytes.begin(), node.bytes.begin(),
                   std::plus<>{});
  }
  std::optional<FullestHost> fullest;
  for (const auto& [node, memory] : by_node) {
    const FullestHost candidate{node, memory, host_memory_of_node(resolved.fabric, node).size};
    if (memory.total() > Bytes{0} && (!fullest || candidate.share() > fullest->share())) {
      fullest = candidate;
    }
  }
  return fullest;
}

std::string memory_lines(const MemoryBreakdown& memory, Bytes capacity) {
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    if (memory.bytes[use] > 0) {
      parts.emplace_back(memory.bytes[use], name_of(static_cast<MemoryUse>(use)));
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [bytes, name] : parts) {
    text += fmt::format("  {:<28}{:>12}", name, to_string(Bytes{bytes}));
    text += capacity > Bytes{0} ? fmt::format("  {:>5.1f} %\n", 100 * (Bytes{bytes} / capacity)) : "\n";
  }
  return text;
}

namespace {

const char* what_helps(const ResolvedScenario& resolved) {
  const auto& workload = resolved.scenario.workload;
  return workload && workload->model->dlrm
             ? "Spread the tables further (ranks, embedding.plan), take a smaller global_batch"
             : "Spread the model further (tensor, pipeline, sharding), keep less (recompute, a smaller "
               "micro_batch)";
}

/// The command that looks for a plan which fits, on a line of its own; "" where there is none.
std::string command_that_helps(const ResolvedScenario& resolved, const std::string& as_typed) {
  const auto& workload = resolved.scenario.workload;
  if (as_typed.empty() || !workload) {
    return "";
  }
  const ModelSpec& model = *workload->model;
  if (model.dlrm) {
    return "\nA plan that fits: lockstep search " + as_typed;
  }
  const bool has_plans = model.transformer && !model.transformer->is_in_modules();
  return has_plans ? "\nA plan that fits: lockstep plan " + as_typed : "";
}

void check_device(const ResolvedScenario& resolved, const std::string& as_typed) {
  const auto fullest = fullest_rank(resolved);
  if (!fullest || fullest->share() <= 1) {
    return;
  }
  throw OutOfMemoryError{fmt::format(
      "out of memory: rank {} needs {}, its GPU ({}, {}) has {} for CUDA\n{}"
      "{}, or go on with --set memory.check_capacity=false{}",
      fullest->rank, to_string(fullest->memory.total()), fullest->gpu, to_string(fullest->nominal),
      to_string(fullest->capacity), memory_lines(fullest->memory, fullest->capacity), what_helps(resolved),
      command_that_helps(resolved, as_typed))};
}

void check_host(const ResolvedScenario& resolved, const std::string& as_typed) {
  const auto fullest = fullest_host(resolved);
  if (!fullest) {
    return;
  }
  const std::string where = host_name(*fullest);
  if (!(fullest->capacity > Bytes{0})) {
    throw InputError{
        resolved.cluster_at,
        fmt::format("cluster: {} must hold {} and its CPU sockets do not say how much they have: "
                    "give their vertices 'memory', e.g. 256 GiB, or go on with --set "
                    "memory.check_capacity=false",
                    where, to_string(fullest->memory.total()))};
  }
  if (fullest->share() > 1) {
    throw OutOfMemoryError{fmt::format(
        "out of host memory: {} must hold {} and has {}\n{}"
        "Keep less there, spread the job over more nodes, or go on with --set "
        "memory.check_capacity=false{}",
        where, to_string(fullest->memory.total()), to_string(fullest->capacity),
        memory_lines(fullest->memory, fullest->capacity), command_that_helps(resolved, as_typed))};
  }
}

}  // namespace

std::string host_name(const FullestHost& host) {
  return host.node < 0 ? "the host" : fmt::format("the host of node {}", host.node);
}

void check_memory(const ResolvedScenario& resolved, const std::string& as_typed) {
  if (resolved.scenario.memory.check_capacity) {
    check_device(resolved, as_typed);
    check_host(resolved, as_typed);
  }
}

}  // namespace lockstep
