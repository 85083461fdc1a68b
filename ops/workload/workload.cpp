#include "ops/workload/workload.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/transformer.hpp"

namespace lockstep {

Job make_job(const WorkloadSpec& workload, const ParallelismSpec& parallelism, const Fabric& fabric,
             const HostOverheads& host, std::span<const Bytes> gpu_memory) {
  std::span<const VertexId> gpus = fabric.gpus();
  if (gpu_memory.size() != gpus.size()) {
    throw std::logic_error{"make_job: one memory size for each GPU of the fabric"};
  }
  const auto ranks = parallelism.ranks ? static_cast<std::size_t>(*parallelism.ranks) : gpus.size();
  if (ranks > gpus.size()) {
    throw std::invalid_argument{
        fmt::format("{} ranks were asked for, the cluster has {} GPUs", ranks, gpus.size())};
  }
  std::vector<int> nodes;
  for (const VertexId gpu : gpus.first(ranks)) {
    nodes.push_back(fabric.vertices()[gpu].node);
  }
  const ModelSpec& model = *workload.model;
  const TrainingSetup setup{.global_batch = workload.global_batch,
                            .precision = workload.precision,
                            .framework = model.framework,
                            .parallelism = parallelism,
                            .host = host,
                            .data_loading = workload.data_loading,
                            .gradient_accumulation = workload.gradient_accumulation,
                            .clip_gradients = workload.clip_gradients,
                            .gpus = gpus.first(ranks),
                            .gpu_memory = gpu_memory.first(ranks),
                            .gpu_nodes = nodes};
  if (model.dlrm) {
    return dlrm_job(*model.dlrm, setup);
  }
  TransformerSpec transformer = model.transformer.value();
  transformer.sequence = workload.sequence.value_or(transformer.sequence);
  return transformer_job(transformer, setup);
}

}  // namespace lockstep
