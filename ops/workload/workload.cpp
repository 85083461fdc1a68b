#include "ops/workload/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "ops/workload/cnn.hpp"
#include "ops/workload/dlrm.hpp"
#include "ops/workload/encoder_decoder.hpp"
#include "ops/workload/model_sizes.hpp"
#include "ops/workload/parallel/parallel_job.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"
#include "ops/workload/transformer.hpp"
#include "ops/workload/xlnet.hpp"
#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

/// Micro-batches of a step of each replica.
int micro_batches_of(const WorkloadSpec& workload, const TransformerPlanSpec& plan, int ranks) {
  if (!workload.micro_batch) {
    return workload.gradient_accumulation;
  }
  const std::int64_t replicas = replicas_of(plan, ranks);
  const std::int64_t samples = replicas * *workload.micro_batch;
  if (workload.global_batch % samples != 0) {
    throw std::invalid_argument{fmt::format("global_batch {} is no multiple of {} replicas x micro_batch {}",
                                            workload.global_batch, replicas, *workload.micro_batch)};
  }
  const std::int64_t micro_batches = workload.global_batch / samples;
  if (micro_batches > kMostMicroBatches) {
    throw std::invalid_argument{fmt::format(
        "global_batch {} makes {} micro-batches of {} replicas x micro_batch {} a step, each of which is "
        "simulated: at most {} are; was another global_batch meant?",
        workload.global_batch, micro_batches, replicas, *workload.micro_batch, kMostMicroBatches)};
  }
  return static_cast<int>(micro_batches);
}

/// Host memory bandwidth of each rank: that of its node by the ranks there.
std::vector<BytesPerSecond> host_bandwidth_of(const Fabric& fabric, const std::vector<int>& nodes) {
  std::map<int, double> ranks;
  for (const int node : nodes) {
    ++ranks[node];
  }
  std::map<int, BytesPerSecond> share;
  for (const auto& [node, count] : ranks) {
    share[node] = host_memory_of_node(fabric, node).bandwidth / count;
  }
  std::vector<BytesPerSecond> of_rank;
  for (const int node : nodes) {
    of_rank.push_back(share.at(node));
  }
  return of_rank;
}

/// Refuses settings that only other kinds of models have.
void check_kind(const WorkloadSpec& workload, const ParallelismSpec& parallelism) {
  const ModelSpec& model = *workload.model;
  const bool is_pure_llama = workload.mixed_precision == MixedPrecision::Pure && model.transformer &&
                             model.transformer->is_in_torch_operators();
  const MixedPrecision mixed = workload.mixed_precision.value_or(MixedPrecision::Autocast);
  const bool has_masters = model.transformer && !model.transformer->is_in_modules();
  if (has_masters && workload.mixed_precision == MixedPrecision::Autocast) {
    throw std::invalid_argument{fmt::format(
        "mixed_precision: autocast, over FP32 parameters that are gathered and whose gradients are reduced "
        "in "
        "FP32, is not written of 'implementation: {}': its parameters are in 16 bits beside FP32 masters, or "
        "FSDP's FP32 shares made 16 bits before each gather; leave 'mixed_precision' out",
        name_of(model.transformer->implementation))};
  }
  if (mixed != MixedPrecision::Autocast && !model.is_hugging_face() && !is_pure_llama) {
    throw std::invalid_argument{fmt::format(
        "mixed_precision: {} is for transformers with 'implementation: hugging_face'{}; {}", name_of(mixed),
        mixed == MixedPrecision::Pure ? ", 'hugging_face_llama' or 'torchtitan'" : "",
        model.dlrm  ? "a DLRM's 16 bits are autocast's"
        : model.cnn ? "a convolutional network's 16 bits are autocast's"
                    : "others' parameters are in 16 bits and have FP32 master weights anyway")};
  }
  if (!model.is_transformer() && !(parallelism.transformer == TransformerPlanSpec{})) {
    throw std::invalid_argument{
        fmt::format("tensor, pipeline, sharding and the like spread transformers, not a {}",
                    model.dlrm ? "DLRM" : "CNN")};
  }
}

}  // namespace

void WorkloadSpec::check_batch() const {
  check_elements("a tensor of the batch", {{"global_batch", static_cast<double>(global_batch)},
                                           {"model", elements_of_sample(*model, sequence)}});
}

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
  const std::vector<BytesPerSecond> host_bandwidth = host_bandwidth_of(fabric, nodes);
  const ModelSpec& model = *workload.model;
  const int micro_batches = micro_batches_of(workload, parallelism.transformer, static_cast<int>(ranks));
  check_operations(model, micro_batches);
  const TrainingSetup setup{.global_batch = workload.global_batch,
                            .precision = workload.precision,
                            .mixed_precision = workload.mixed_precision.value_or(MixedPrecision::Autocast),
                            .framework = model.framework,
                            .parallelism = parallelism,
                            .host = host,
                            .loader = workload.loader,
                            .gradient_accumulation = micro_batches,
                            .clip_gradients = workload.clip_gradients,
                            .optimizer = workload.update(),
                            .phases = workload.phases,
                            .frozen = FrozenParts{workload.freeze},
                            .gpus = gpus.first(ranks),
                            .gpu_memory = gpu_memory.first(ranks),
                            .gpu_nodes = nodes,
                            .host_bandwidth = host_bandwidth};
  check_kind(workload, parallelism);
  if (model.cnn) {
    return cnn_job(*model.cnn, setup);
  }
  if (model.dlrm) {
    return dlrm_job(*model.dlrm, setup);
  }
  if (model.encoder_decoder) {
    return encoder_decoder_job(*model.encoder_decoder, setup);
  }
  if (model.xlnet) {
    XlnetSpec xlnet = *model.xlnet;
    xlnet.sequence = workload.sequence.value_or(xlnet.sequence);
    return xlnet_job(xlnet, setup);
  }
  TransformerSpec transformer = model.transformer.value();
  transformer.sequence = workload.sequence.value_or(transformer.sequence);
  if (!transformer.is_in_modules()) {
    return parallel_transformer_job(transformer, setup);
  }
  return transformer_job(transformer, setup);
}

}  // namespace lockstep
