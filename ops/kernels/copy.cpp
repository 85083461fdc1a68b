#include "ops/kernels/copy.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;  // bytes DRAM and the caches move at least (CUDA C++ Programming Guide, 5.3.2)

Seconds stream(Bytes bytes, double fraction, const GpuSpec& gpu) {
  return gpu.kernel_minimum + time_to_move({bytes, bytes, fraction}, gpu);
}

Prediction concatenated(const Concat& work, const KernelCall& call, const GpuSpec& gpu) {
  const Bytes bytes = size_of(call.type) * (2 * static_cast<double>(work.elements));
  return answer(stream(bytes, gpu.efficiency.copy_pieces, gpu), 0.2, gpu);
}

Prediction transposed(const Transpose& work, const KernelCall& call, const GpuSpec& gpu) {
  const double element = size_of(call.type) / Bytes{1};
  const auto rows = static_cast<double>(work.rows), columns = static_cast<double>(work.columns);
  const auto padded = [&](double run) { return std::ceil(run * element / kSector) * kSector; };
  const double matrices = static_cast<double>(work.batch);
  const Bytes bytes{matrices * (rows * padded(columns) + columns * padded(rows))};
  return answer(stream(bytes, gpu.efficiency.copy_pieces, gpu), 0.3, gpu);
}

Prediction copied(const Memcpy& work, const GpuSpec& gpu) {
  if (work.path == Memcpy::Path::DeviceToDevice) return answer(stream(2.0 * work.size, 1, gpu), 0.15, gpu);
  const BytesPerSecond rate = work.pinned ? gpu.host_copy.pinned : gpu.host_copy.pageable;
  return answer(gpu.host_copy.latency + work.size / rate, 0.2, gpu);
}

}  // namespace

std::string CopyModel::name() const {
  return "copy: streaming bandwidth";
}

Prediction CopyModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  if (const auto* concat = std::get_if<Concat>(&call.work)) return concatenated(*concat, call, gpu);
  if (const auto* transpose = std::get_if<Transpose>(&call.work)) return transposed(*transpose, call, gpu);
  if (const auto* copy = std::get_if<Memcpy>(&call.work)) return copied(*copy, gpu);
  return answer(stream(std::get<Memset>(call.work).size, 1, gpu), 0.15, gpu);
}

}  // namespace lockstep
