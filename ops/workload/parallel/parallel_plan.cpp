#include "ops/workload/parallel/parallel_plan.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "ops/workload/parallel/framework_rules.hpp"

namespace lockstep {
namespace {

template <class... Args>
void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) {
    throw std::invalid_argument{fmt::format(format, std::forward<Args>(args)...)};
  }
}

}  // namespace

void check_implementation(const TransformerPlanSpec& spec, const TransformerSpec& model) {
  const std::int64_t tensor = spec.tensor, kv_heads = model.key_value_heads();
  const bool is_torchtitan = model.implementation == Implementation::TorchTitan;
  expect(!is_torchtitan || spec.tensor == 1 || spec.sequence_parallel,
         "torchtitan's tensor-parallel ranks share the tokens between its modules: say 'sequence_parallel: "
         "true'");
  expect(!is_torchtitan || kv_heads % tensor == 0,
         "torchtitan does not repeat heads of keys and values: {} cannot be divided among {} tensor-parallel "
         "ranks",
         kv_heads, tensor);
  const bool is_data_parallel = spec.tensor == 1 && spec.pipeline == 1 && spec.context == 1;
  expect(
      model.implementation != Implementation::HuggingFaceLlama || is_data_parallel,
      "'implementation: hugging_face_llama' is data parallel, with any 'sharding': 'tensor', 'pipeline' and "
      "'context' are 1, or the model's 'implementation' megatron, nanotron or torchtitan");
  expect(model.implementation == Implementation::Megatron || spec.recompute != Recompute::Selective,
         "'recompute: selective', of attention's core, is Megatron-LM's: torchtitan has 'operators', or "
         "'full' with "
         "'recompute_every'; nanotron and transformers compute whole layers again ('full')");
  expect(
      model.residual == Residual::Serial || !spec.sequence_parallel,
      "what is beside each other ('residual: {}') is summed over tensor-parallel ranks once: that is known "
      "without 'sequence_parallel'",
      name_of(model.residual));
  expect(!model.fused_loss || spec.tensor == 1,
         "'fused_loss' needs all logits of a token on one rank: 'tensor' must be 1, or 'fused_loss' false");
  expect(is_torchtitan || spec.recompute != Recompute::Operators,
         "'recompute: operators' is torchtitan's: it needs the model's 'implementation: torchtitan'");
  expect(spec.tensor_layers == TensorLayers::Megatron ||
             (model.implementation == Implementation::Megatron && !model.experts && !model.latent_attention),
         "'tensor_layers: dtensor' is for dense models of 'implementation: megatron'");
  expect(
      !spec.tensor_overlap || model.implementation != Implementation::Nanotron,
      "'tensor_overlap' is Transformer Engine's, or torchtitan's asynchronous tensor parallelism: nanotron "
      "waits for each gather and sum");
}

namespace {

void check_model(const TransformerPlanSpec& spec, const TransformerSpec& model) {
  const std::int64_t tensor = spec.tensor, kv_heads = model.key_value_heads();
  check_implementation(spec, model);
  expect(model.heads % tensor == 0, "{} heads cannot be divided among {} tensor-parallel ranks", model.heads,
         tensor);
  expect(kv_heads % tensor == 0 || tensor % kv_heads == 0,
         "{} heads of keys and values can neither be divided among nor repeated on {} tensor-parallel ranks",
         kv_heads, tensor);
  expect(model.feed_forward_width() % tensor == 0,
         "a feed-forward width of {} cannot be divided among {} tensor-parallel ranks",
         model.feed_forward_width(), tensor);
  // A ring of causal attention is even when each rank takes a piece from either end.
  expect(model.sequence % (2 * std::int64_t{spec.context}) == 0 || spec.context == 1,
         "a sequence of {} tokens cannot be cut into 2 pieces for each of {} context-parallel ranks",
         model.sequence, spec.context);
  expect(!spec.sequence_parallel || (model.sequence / spec.context) % tensor == 0,
         "{} tokens of a sequence cannot be divided among {} sequence-parallel ranks",
         model.sequence / spec.context, tensor);
  expect(spec.context == 1 || model.attention != AttentionKernels::Unfused,
         "context parallelism needs the model's 'attention: flash'");
  if (!model.experts) {
    expect(spec.expert == 1 && spec.expert_tensor == 1,
           "the model has no experts: 'expert' and 'expert_tensor' must be 1");
    return;
  }
  expect(
      spec.tensor == 1 || spec.sequence_parallel,
      "experts with tensor {} need 'sequence_parallel: true': else all its ranks would send the same tokens",
      spec.tensor);
  expect(model.experts->count % spec.expert == 0,
         "{} experts cannot be divided among {} expert-parallel ranks", model.experts->count, spec.expert);
  expect(model.experts->feed_forward % spec.expert_tensor == 0,
         "an expert's width of {} cannot be divided among {} ranks", model.experts->feed_forward,
         spec.expert_tensor);
  const std::int64_t shared = model.experts->shared * model.experts->feed_forward;
  expect(shared % spec.tensor == 0, "a width of {} of shared experts cannot be divided among {} ranks",
         shared, spec.tensor);
}

void check_pipeline(const TransformerPlanSpec& spec, const TransformerSpec& model, int micro_batches) {
  const std::int64_t parts = std::int64_t{spec.pipeline} * spec.chunks;
  const auto& said = spec.stage_layers;
  const std::int64_t sum = std::accumulate(said.begin(), said.end(), std::int64_t{0});
  expect(said.empty() || static_cast<std::int64_t>(said.size()) == parts,
         "stage_layers has {} entries for {} stages x {} chunks", said.size(), spec.pipeline, spec.chunks);
  expect(said.empty() || sum == model.layers, "stage_layers has {} layers, the model {}", sum, model.layers);
  expect(!said.empty() || model.layers >= parts,
         "{} layers cannot fill {} stages x {} chunks: some would have none; 'stage_layers' says which",
         model.layers, spec.pipeline, spec.chunks);
  expect(spec.schedule != PipelineSchedule::Interleaved || micro_batches % spec.pipeline == 0,
         "an interleaved schedule works on {} micro-batches at a time: {} are no multiple", spec.pipeline,
         micro_batches);
}

/// Consecutive ranges of that many layers each.
std::vector<LayerRange> ranges_of(const std::vector<std::int64_t>& counts) {
  std::vector<LayerRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

}  // namespace

std::vector<LayerRange> split_layers(std::int64_t layers, int parts) {
  const std::int64_t least = layers / parts;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(parts), least);
  const auto more = static_cast<std::size_t>(layers % parts);
  // Parts with one more: those in the middle, a little nearer to the front, where activations are kept longer
  // but the head is not.
  const std::size_t begin = (counts.size() - more) / 2;
  for (std::size_t part = begin; part < begin + more; ++part) {
    ++counts[part];
  }
  return ranges_of(counts);
}

std::vector<LayerRange> layers_of_chunks(const TransformerPlanSpec& spec, std::int64_t layers) {
  return spec.stage_layers.empty() ? split_layers(layers, spec.pipeline * spec.chunks)
                                   : ranges_of(spec.stage_layers);
}

int replicas_of(const TransformerPlanSpec& spec, int ranks) {
  const std::int64_t model_ranks = std::int64_t{spec.tensor} * spec.context * spec.pipeline;
  expect(ranks % model_ranks == 0,
         "{} GPUs are no multiple of tensor {} x context {} x pipeline {} = {} GPUs for one replica", ranks,
         spec.tensor, spec.context, spec.pipeline, model_ranks);
  return static_cast<int>(ranks / model_ranks);
}

ParallelPlan make_plan(const TransformerPlanSpec& spec, const TransformerSpec& model, int ranks,
                       std::int64_t global_batch, int micro_batches) {
  ParallelPlan plan;
  plan.spec = with_zero3_implementation(spec, model);
  plan.ranks = ranks;
  plan.data = replicas_of(spec, ranks);
  plan.micro_batches = micro_batches;
  const std::int64_t shares = std::int64_t{plan.data} * micro_batches;
  expect(global_batch % shares == 0,
         "global_batch {} cannot be divided evenly among {} data-parallel replicas x {} micro-batches",
         global_batch, plan.data, micro_batches);
  plan.micro_batch = global_batch / shares;
  check_model(spec, model);
  check_pipeline(spec, model, micro_batches);
  const int stage_ranks = ranks / spec.pipeline, expert_ranks = spec.expert * spec.expert_tensor;
  expect(stage_ranks % expert_ranks == 0,
         "the {} ranks of a stage are no multiple of expert {} x expert_tensor {}", stage_ranks, spec.expert,
         spec.expert_tensor);
  plan.expert_data = stage_ranks / expert_ranks;
  plan.shard = spec.shard_group.value_or(plan.replicas());
  expect(plan.replicas() % plan.shard == 0, "{} replicas are no multiple of a shard_group of {}",
         plan.replicas(), plan.shard);
  const int of_group = spec.tensor * plan.shard;
  expect(!model.experts || of_group % expert_ranks == 0,
         "a shard_group of {} with tensor {} has {} GPUs: no whole number of copies of the experts, each of "
         "which is on expert {} x expert_tensor {} = {} GPUs",
         plan.shard, spec.tensor, of_group, spec.expert, spec.expert_tensor, expert_ranks);
  plan.expert_shard = of_group / expert_ranks;
  plan.expert_places = model.experts && model.experts->imbalance > 1 ? spec.expert : 1;
  plan.layers = layers_of_chunks(spec, model.layers);
  return plan;
}

}  // namespace lockstep
