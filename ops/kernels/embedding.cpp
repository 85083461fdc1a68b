#include "ops/kernels/embedding.hpp"

#include <algorithm>

#include "ops/kernels/embedding_load.hpp"
#include "ops/kernels/host_traffic.hpp"
#include "ops/kernels/make_prediction.hpp"

namespace lockstep {
namespace {

/// Kernels that FBGEMM generates have it in their names.
bool is_generated(const KernelCall& call) {
  return call.name.find("codegen") != std::string::npos;
}

}  // namespace

std::string EmbeddingBagsModel::name() const {
  return "embedding bags: level-2 hit rate, roofline";
}

Prediction EmbeddingBagsModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<EmbeddingBags>(call.work);
  const EmbeddingTimes times = embedding_times(embedding_load(work, call.type, gpu), work.direction, gpu);
  const Seconds host = time_over_pcie(host_traffic(call), gpu);
  const bool in_range = fills_requests(work.tables, size_of(call.type) / Bytes{1}) &&
                        std::ranges::all_of(work.tables, [](const EmbeddingTable& table) {
                          return table.dimension >= 16 && table.dimension <= 512;
                        });
  const Seconds waits = std::max(times.waits, times.longest_wait) + times.block_waits;
  if (work.direction == Direction::Forward) {
    const Seconds issue = is_generated(call) ? times.issue : Seconds{0};
    return make_prediction(gpu.kernel_minimum + gpu.efficiency->first_row +
                               look_up_time({waits, times.dram, times.level2, times.level1, issue, host}),
                           0.25, provenance_of(gpu, "random_rows"), in_range);
  }
  return make_prediction(gpu.kernel_minimum + std::max({times.dram, times.level2, waits, host}), 0.25,
                         provenance_of(gpu, "scattered_update"), in_range);
}

}  // namespace lockstep
