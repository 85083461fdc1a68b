#include "ops/kernels/reduction.hpp"

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kTreesAcrossRows = 1.75;  // 9.5 us of the smallest sum across rows against 5.4 us along them
constexpr double kClocksOfARow = 1.6;      // across rows: each thread goes down its columns
constexpr double kClocksAlone = 47;        // the same where one block has all rows: see the header
constexpr double kFewRows = 1024;          // of which blocks have parts
constexpr double kFlopsOfACore = 2;        // each clock

Seconds clocks(double count, const GpuSpec& gpu) {
  const double cores = static_cast<double>(gpu.sm_count) * gpu.cores_per_sm;
  return Flops{count * cores * kFlopsOfACore} / gpu.peak.fp32;
}

Seconds latency_across(double rows, const GpuSpec& gpu) {
  const Seconds tree = gpu.efficiency->reduction_latency;
  return rows < kFewRows ? tree + clocks(kClocksAlone * rows, gpu)
                         : tree * kTreesAcrossRows + clocks(kClocksOfARow * rows, gpu);
}

}  // namespace

std::string ReductionModel::name() const {
  return "reduction: roofline";
}

Prediction ReductionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<Reduction>(call.work);
  const auto rows = static_cast<double>(work.rows), columns = static_cast<double>(work.columns);
  const Bytes element = size_of(call.type);
  const Traffic traffic = streamed(element * (rows * columns), element * (work.across_rows ? columns : rows));
  const Seconds latency = work.across_rows ? latency_across(rows, gpu) : gpu.efficiency->reduction_latency;
  return make_prediction(latency + time_to_move(traffic, gpu), 0.25, provenance_of(gpu, "reduction_latency"));
}

}  // namespace lockstep
