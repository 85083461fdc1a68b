#include "ops/kernels/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace lockstep {
namespace {

constexpr double kCacheReach = 1.5;          // see time_to_move()
constexpr double kIssuedEachClock = 4 * 32;  // instructions of threads, by an SM
constexpr double kReached = 0.65;            // of that; see time_to_issue()
constexpr Seconds kFirstLoad{0.45e-6};       // see smallest_fill()
constexpr double kFlopsOfACore = 2;          // each clock

}  // namespace

Traffic streamed(Bytes reads, Bytes writes, double fraction) {
  return {.moved = reads + writes, .written = writes, .footprint = reads + writes, .fraction = fraction};
}

double resident_share(Bytes footprint, const GpuSpec& gpu) {
  return std::clamp(kCacheReach - footprint / gpu.l2_size, 0.0, 1.0);
}

Seconds time_to_move(const Traffic& traffic, const GpuSpec& gpu) {
  const KernelEfficiency& reached = *gpu.efficiency;
  const double resident = resident_share(traffic.footprint, gpu);
  const BytesPerSecond streaming = gpu.memory_bandwidth * (reached.memory * traffic.fraction);
  const Seconds stored = traffic.written / (streaming * reached.writes);
  const Seconds dram = std::max(traffic.moved / streaming, stored);
  const Seconds cache = std::max(traffic.moved / (gpu.l2_bandwidth * traffic.fraction), stored);
  return dram * (1 - resident) + std::min(cache, dram) * resident;
}

Seconds smallest_fill(const GpuSpec& gpu) {
  return gpu.kernel_minimum - std::min(kFirstLoad, gpu.kernel_minimum);
}

Seconds time_to_issue(double instructions, const GpuSpec& gpu) {
  const double of_peak = kIssuedEachClock / (kFlopsOfACore * gpu.cores_per_sm);  // instructions by flop
  return Flops{instructions} / (gpu.peak.fp32 * (of_peak * kReached));
}

bool uses_tensor_cores(const GpuSpec& gpu, DataType type) {
  switch (type) {
    case DataType::TF32:
      return gpu.peak.tf32 > FlopsPerSecond{0};
    case DataType::FP16:
    case DataType::BF16:
    case DataType::FP8:
      return true;
    default:
      return false;
  }
}

FlopsPerSecond peak_of(const GpuSpec& gpu, DataType type) {
  FlopsPerSecond peak = gpu.peak.fp32;
  const char* name = "";
  if (type == DataType::TF32 && uses_tensor_cores(gpu, type)) peak = gpu.peak.tf32;
  if (type == DataType::FP16) peak = gpu.peak.fp16, name = "FP16";
  if (type == DataType::BF16) peak = gpu.peak.bf16, name = "BF16";
  if (type == DataType::FP8) peak = gpu.peak.fp8, name = "FP8";
  if (peak <= FlopsPerSecond{0}) {
    throw std::invalid_argument(
        fmt::format("GPU {} has no tensor cores for {}: take a precision that it has, fp32 on every GPU",
                    gpu.name, name));
  }
  return peak;
}

}  // namespace lockstep
