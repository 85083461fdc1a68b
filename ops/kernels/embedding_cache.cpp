#include "ops/kernels/embedding_cache.hpp"

#include <algorithm>

#include "ops/kernels/host_traffic.hpp"
#include "ops/kernels/make_prediction.hpp"

namespace lockstep {

std::string EmbeddingCacheModel::name() const {
  return "embedding cache: rows over PCIe";
}

Prediction EmbeddingCacheModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& insert = std::get<EmbeddingCacheInsert>(call.work);
  const KernelEfficiency& reached = *gpu.efficiency;
  const HostTraffic traffic = host_traffic(call);
  const Seconds dram = traffic.total() / (gpu.memory_bandwidth * (reached.memory * reached.random_rows));
  const bool in_range = fills_requests(insert.tables, size_of(call.type) / Bytes{1});
  return make_prediction(gpu.kernel_minimum + std::max(dram, time_over_pcie(traffic, gpu)), 0.25,
                         provenance_of(gpu, "random_rows"), in_range);
}

}  // namespace lockstep
