#include "traces/chakra/rank_shapes.hpp"

#include <algorithm>
#include <utility>

#include "ops/kernels/timed.hpp"

namespace lockstep::chakra {

RankShape::Timing RankShape::timing_of(const TraceGraph& graph, std::size_t node) const {
  Timing timing{graph.what[node], graph.microseconds[node]};
  if (graph.is_memory(node)) {
    timing.microseconds = 0;  // a copy takes what its bytes take
    timing.bytes = graph.bytes[node];
  } else if (graph.is_derived(node)) {
    timing.operations = graph.operations[node];
    timing.bytes = graph.bytes[node];
  }
  return timing;
}

/// *Source* of the roofline: Williams et al., CACM 52(4) 2009: t = max(operations / peak, bytes / bandwidth).
KernelCall RankShape::call_of(const Timing& timing, const TraceTables& tables) const {
  if ((timing.kind & TraceGraph::kMemory) != 0) {
    const bool stores = timing.kind != TraceGraph::kMemory;
    const auto path = stores ? Memcpy::Path::DeviceToHost : Memcpy::Path::HostToDevice;
    return {stores ? "memory store" : "memory load", DataType::UINT8,
            Memcpy{Bytes{timing.bytes}, path, true}};
  }
  const std::string& name = tables.kind_name(timing.kind);
  if (timing.operations > 0 || timing.bytes > 0) {
    const double compute = timing.operations / rates_.compute.in_base_units();
    const double memory = timing.bytes / rates_.memory.in_base_units();
    return {name + std::string{kDerivedMark}, DataType::FP16, Timed{Seconds{std::max(compute, memory)}}};
  }
  return {name, DataType::FP32, Timed{Seconds{1e-6 * static_cast<double>(timing.microseconds)}}};
}

std::uint32_t RankShape::kernel(const Timing& timing) {
  const auto [entry, fresh] = numbers_.try_emplace(timing, static_cast<std::uint32_t>(kernels_.size()));
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
      kernels.push_back(kernel(timing_of(graph, node)));
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
    compute.kernels.push_back(call_of(timing, tables));
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
  result.program = program_of(graph_, tables, std::move(compute), calls_);
  return result;
}

}  // namespace lockstep::chakra
