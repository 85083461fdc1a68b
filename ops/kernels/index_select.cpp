#include "ops/kernels/index_select.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;     // bytes of a DRAM sector (CUDA C++ Programming Guide, 5.3.2)
constexpr double kIndexBytes = 8;  // int64 indices

}  // namespace

std::string IndexSelectModel::name() const {
  return "index select: rows at random addresses";
}

Prediction IndexSelectModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<IndexSelect>(call.work);
  const auto picks = static_cast<double>(work.picks), rows = static_cast<double>(work.table_rows);
  const double row =
      std::ceil(static_cast<double>(work.columns) * (size_of(call.type) / Bytes{1}) / kSector) * kSector;
  const double passes = work.direction == Direction::Forward ? 2 : 3;
  const Bytes moved{picks * (passes * row + kIndexBytes)};
  const Bytes footprint{std::min(picks, rows) * row + picks * (row + kIndexBytes)};
  const Seconds time = time_to_move({moved, footprint, gpu.efficiency.random_rows}, gpu);
  return answer(gpu.kernel_minimum + time, 0.3, gpu, row >= kSector);
}

}  // namespace lockstep
