#include "traces/chakra/rank_shapes.hpp"

#include <utility>

namespace lockstep::chakra {

std::uint32_t RankShape::kernel(std::uint32_t kind, std::uint64_t microseconds) {
  const auto [entry, fresh] =
      numbers_.try_emplace(Timing{kind, microseconds}, static_cast<std::uint32_t>(kernels_.size()));
  if (fresh) {
    kernels_.push_back(entry->first);
  }
  return entry->second;
}

std::uint32_t RankShape::add_durations(const TraceGraph& graph) {
  std::vector<std::uint32_t> kernels;
  kernels.reserve(durations_.empty() ? graph.size() : durations_.front().size());
  for (std::size_t node = 0; node < graph.size(); ++node) {
    if (!graph.is_collective(node)) {
      kernels.push_back(kernel(graph.what[node], graph.microseconds[node]));
    }
  }
  const auto last = static_cast<std::uint32_t>(durations_.size());
  if (last > 0 && durations_.front() == kernels) {
    return 0;
  }
  if (last > 0 && durations_.back() == kernels) {
    return last - 1;
  }
  durations_.push_back(std::move(kernels));
  return last;
}

RankShape::Result RankShape::finish(const TraceTables& tables) && {
  ComputeNodes compute;
  for (const Timing& timing : kernels_) {
    const Seconds duration{1e-6 * static_cast<double>(timing.microseconds)};
    compute.kernels.push_back({tables.kind_name(timing.kind), DataType::FP32, Timed{duration}});
  }
  compute.differs.assign(durations_.front().size(), false);
  for (const auto& durations : durations_) {
    for (std::size_t i = 0; i < durations.size(); ++i) {
      if (durations[i] != durations_.front()[i]) {
        compute.differs[i] = true;
      }
    }
  }
  Result result;
  for (auto& durations : durations_) {
    std::vector<std::uint32_t>& slots = result.slots.emplace_back();
    if (&durations == &durations_.front()) {
      compute.kernel = durations;
    }
    for (std::size_t i = 0; i < durations.size(); ++i) {
      if (compute.differs[i]) {
        slots.push_back(durations[i]);
      }
    }
    slots.shrink_to_fit();
    std::vector<std::uint32_t>{}.swap(durations);
  }
  result.program = program_of(graph_, tables, std::move(compute), group_sizes_);
  return result;
}

}  // namespace lockstep::chakra
