#include "ops/kernels/copy.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;  // bytes that DRAM and caches move at least (CUDA C++ Programming Guide)

constexpr double kInstructionsOfStrides = 90;  // see the header

Prediction moved(Bytes reads, Bytes writes, double fraction, double band, const GpuSpec& gpu,
                 const char* key = "memory") {
  const Seconds time = time_to_move(streamed(reads, writes, fraction), gpu);
  return make_prediction(gpu.kernel_minimum + time, band, provenance_of(gpu, key));
}

Prediction transposed(const Transpose& work, DataType type, const GpuSpec& gpu) {
  const double element = size_of(type) / Bytes{1};
  const auto rows = static_cast<double>(work.rows), columns = static_cast<double>(work.columns);
  const auto padded = [&](double run) { return std::ceil(run * element / kSector) * kSector; };
  const auto matrices = static_cast<double>(work.batch);
  return moved(Bytes{matrices * rows * padded(columns)}, Bytes{matrices * columns * padded(rows)},
               gpu.efficiency->transposition, 0.3, gpu, "transposition");
}

Prediction copied(const Memcpy& work, const GpuSpec& gpu) {
  if (work.path == Memcpy::Path::DeviceToDevice) return moved(work.size, work.size, 1, 0.15, gpu);
  const BytesPerSecond rate = work.pinned ? gpu.host_copy.pinned : gpu.host_copy.pageable;
  const char* const key = work.pinned ? "host_copy.pinned" : "host_copy.pageable";
  return make_prediction(gpu.host_copy.latency + work.size / rate, 0.2, evidence_for(gpu.provenance, key).is);
}

}  // namespace

std::string CopyModel::name() const {
  return "copy: streaming bandwidth";
}

Prediction CopyModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  if (const auto* concat = std::get_if<Concat>(&call.work)) {
    const auto elements = static_cast<double>(concat->elements);
    const Bytes pieces = size_of(call.type) * elements;
    const Seconds move = time_to_move(streamed(pieces, pieces, gpu.efficiency->concatenation), gpu);
    const Seconds issue = time_to_issue(concat->strided ? elements * kInstructionsOfStrides : 0, gpu);
    return make_prediction(gpu.kernel_minimum + std::max(move, issue), 0.2,
                           provenance_of(gpu, "concatenation"));
  }
  if (const auto* transpose = std::get_if<Transpose>(&call.work))
    return transposed(*transpose, call.type, gpu);
  if (const auto* copy = std::get_if<Memcpy>(&call.work)) return copied(*copy, gpu);
  const Traffic zeros = streamed(Bytes{0}, std::get<Memset>(call.work).size);
  return make_prediction(smallest_fill(gpu) + time_to_move(zeros, gpu), 0.15, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
