#include "ops/kernels/index_select.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;     // bytes of a DRAM sector (CUDA C++ Programming Guide, 5.3.2)
constexpr double kIndexBytes = 8;  // int64 indices

constexpr double kClocksOfABlock = 158;  // of an SM, see the header
constexpr double kFlopsOfACore = 2;      // each clock

Seconds time_to_begin(double blocks, const GpuSpec& gpu) {
  const double clocks = blocks * kClocksOfABlock / gpu.sm_count;
  return Flops{clocks * gpu.sm_count * gpu.cores_per_sm * kFlopsOfACore} / gpu.peak.fp32;
}

}  // namespace

std::string IndexSelectModel::name() const {
  return "index select: rows at random addresses";
}

Prediction IndexSelectModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<IndexSelect>(call.work);
  const auto picks = static_cast<double>(work.picks), rows = static_cast<double>(work.table_rows);
  const double row =
      std::ceil(static_cast<double>(work.columns) * (size_of(call.type) / Bytes{1}) / kSector) * kSector;
  const bool forward = work.direction == Direction::Forward;
  const Bytes rows_moved{picks * row};
  const Bytes read = rows_moved * (forward ? 1 : 2) + Bytes{picks * kIndexBytes};
  const Traffic traffic{.moved = read + rows_moved,
                        .written = rows_moved,
                        .footprint = Bytes{std::min(picks, rows) * row} + rows_moved,
                        .fraction = gpu.efficiency->random_rows};
  const Seconds blocks = work.block_per_row ? time_to_begin(picks, gpu) : Seconds{0};
  return make_prediction(gpu.kernel_minimum + std::max(time_to_move(traffic, gpu), blocks), 0.3, false,
                         work.columns > 0);
}

}  // namespace lockstep
