#include "ops/kernels/pointwise.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr Bytes kSector{32};
constexpr double kLoadClocks = 200;  // see the header
constexpr double kFlopsOfACore = 2;  // each clock

/// Time with the bytes that the operand of sectors moves beyond its elements.
Seconds time_with_sectors(const Pointwise& work, Bytes element, Seconds others, const GpuSpec& gpu) {
  const auto elements = static_cast<double>(work.elements);
  const double resident = resident_share(kSector * static_cast<double>(work.sector_window), gpu);
  const Bytes extra = (kSector - element) * (elements * (1 - resident));
  const Seconds memory = others + extra / (gpu.memory_bandwidth * gpu.efficiency->memory);
  return std::max(memory, kSector * elements / gpu.l2_bandwidth);
}

Seconds time_of_chain(const Pointwise& work, const GpuSpec& gpu) {
  const double cores = static_cast<double>(gpu.sm_count) * gpu.cores_per_sm;
  return Flops{static_cast<double>(work.chain) * kLoadClocks * cores * kFlopsOfACore} / gpu.peak.fp32;
}

}  // namespace

std::string PointwiseModel::name() const {
  return "pointwise: roofline";
}

Prediction PointwiseModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<Pointwise>(call.work);
  const auto elements = static_cast<double>(work.elements);
  const Bytes tensor = size_of(call.type) * elements;
  const Seconds compute = Flops{elements * work.flops} / gpu.peak.fp32;
  Seconds memory = time_to_move(streamed(tensor * work.reads, tensor * work.writes), gpu);
  if (work.sector_window > 0) {
    memory = time_with_sectors(work, size_of(call.type), memory, gpu);
  }
  const Seconds issue =
      std::max(compute, time_to_issue(elements * work.instructions, gpu) + time_of_chain(work, gpu));
  const Seconds busy =
      work.in_step ? Seconds{std::hypot(memory / Seconds{1}, issue / Seconds{1})} : std::max(memory, issue);
  const bool only_writes = work.reads == 0 && work.chain == 0 && work.sector_window == 0;
  return make_prediction((only_writes ? smallest_fill(gpu) : gpu.kernel_minimum) + busy, 0.15,
                         provenance_of(gpu, "memory"));
}

}  // namespace lockstep
