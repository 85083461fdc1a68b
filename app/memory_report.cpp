#include "app/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lockstep {

std::optional<FullestRank> fullest_rank(const Setting& setting) {
  std::optional<FullestRank> fullest;
  const Job& job = setting.job;
  for (std::uint32_t rank = 0; rank < job.ranks.size() && !job.memory.empty(); ++rank) {
    FullestRank candidate{rank, job.memory[job.ranks[rank].memory],
                          setting.gpu_models[setting.gpu_model_of_rank[rank]].memory};
    if (!fullest || candidate.share() > fullest->share()) {
      fullest = candidate;
    }
  }
  if (fullest) {
    const MemorySpec& spec = setting.scenario.memory;
    fullest->memory[MemoryUse::Fragmentation] =
        (fullest->memory.total() * spec.fragmentation).in_base_units();
    fullest->memory[MemoryUse::Context] = spec.context.in_base_units();
  }
  return fullest;
}

std::string memory_lines(const FullestRank& fullest) {
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    if (fullest.memory.bytes[use] > 0) {
      parts.emplace_back(fullest.memory.bytes[use], name_of(static_cast<MemoryUse>(use)));
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [bytes, name] : parts) {
    text += fmt::format("  {:<28}{:>12}  {:>5.1f} %\n", name, to_string(Bytes{bytes}),
                        100 * (Bytes{bytes} / fullest.capacity));
  }
  return text;
}

namespace {

const char* what_helps(const Setting& setting) {
  const auto& workload = setting.scenario.workload;
  return workload && workload->model->dlrm
             ? "Spread the tables further (ranks, embedding.plan), take a smaller global_batch"
             : "Spread the model further (tensor, pipeline, sharding), keep less (recompute, a smaller "
               "micro_batch)";
}

}  // namespace

void check_memory(const Setting& setting) {
  const auto fullest = fullest_rank(setting);
  if (!fullest || fullest->share() <= 1 || !setting.scenario.memory.check_capacity) {
    return;
  }
  throw OutOfMemoryError{
      fmt::format("out of memory: rank {} needs {} of its GPU's {}\n{}"
                  "{}, or go on with --set memory.check_capacity=false",
                  fullest->rank, to_string(fullest->memory.total()), to_string(fullest->capacity),
                  memory_lines(*fullest), what_helps(setting))};
}

}  // namespace lockstep
