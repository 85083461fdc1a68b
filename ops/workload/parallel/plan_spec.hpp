#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// The order in which a pipeline stage works on micro-batches.
enum class PipelineSchedule : std::uint8_t {
  GPipe,        ///< all forward, then all backward (Huang et al., arXiv 1811.06965)
  OneFOneB,     ///< one forward, one backward once the pipeline is full (Narayanan et al., arXiv 1806.03377)
  Interleaved,  ///< 1F1B over several chunks of layers a stage (Narayanan et al., arXiv 2104.04473, 2.2.2)
  ZeroBubble,   ///< ZB-H1: weight gradients fill the bubble (Qi et al., arXiv 2401.10241, 2.2)
};
constexpr auto names_of(PipelineSchedule) {
  return std::to_array<EnumName<PipelineSchedule>>({{PipelineSchedule::GPipe, "gpipe"},
                                                    {PipelineSchedule::OneFOneB, "1f1b"},
                                                    {PipelineSchedule::Interleaved, "interleaved"},
                                                    {PipelineSchedule::ZeroBubble, "zero_bubble"}});
}

/// State of which data-parallel ranks keep only a share (Rajbhandari et al., arXiv 1910.02054).
enum class Sharding : std::uint8_t {
  None,   ///< nothing: gradients are all-reduced
  Zero1,  ///< optimizer states: gradients are reduce-scattered, parameters all-gathered after the step
  Zero2,  ///< gradients too
  Zero3,  ///< parameters too, gathered layer by layer (FSDP's full shard)
};
constexpr auto names_of(Sharding) {
  return std::to_array<EnumName<Sharding>>({{Sharding::None, "none"},
                                            {Sharding::Zero1, "zero1"},
                                            {Sharding::Zero2, "zero2"},
                                            {Sharding::Zero3, "zero3"}});
}

/// State that data-parallel ranks keep in host memory instead of on the GPU (Ren et al., ZeRO-Offload,
/// arXiv 2101.06840; DeepSpeed's offload_optimizer and offload_param, FSDP's CPUOffload).
enum class Offload : std::uint8_t {
  None,
  Optimizer,   ///< gradients and optimizer states; the optimizer runs on the CPU
  Parameters,  ///< zero3: these, and the rank's share of the parameters
};
constexpr auto names_of(Offload) {
  return std::to_array<EnumName<Offload>>(
      {{Offload::None, "none"}, {Offload::Optimizer, "optimizer"}, {Offload::Parameters, "parameters"}});
}

/// Activations that backward computes again instead of keeping them.
enum class Recompute : std::uint8_t {
  None,
  Selective,  ///< those of attention's core (Korthikanti et al., arXiv 2205.05198, section 5)
  Full,       ///< all of a layer but its input
  Operators,  ///< all but attention's core and every second product (torchtitan's selective_ac_option op)
};
constexpr auto names_of(Recompute) {
  return std::to_array<EnumName<Recompute>>({{Recompute::None, "none"},
                                             {Recompute::Selective, "selective"},
                                             {Recompute::Full, "full"},
                                             {Recompute::Operators, "operators"}});
}

/// The implementation of zero3: what is copied besides what ZeRO sends. PyTorch's keep FP32 shares of
/// parameters and gradients, cast before each gather and behind each reduce-scatter. Others keep 16-bit
/// shares beside the optimizer's in FP32.
enum class Zero3Implementation : std::uint8_t {
  None,   ///< parameters and gradients lie where collectives read and write them, as with Megatron-FSDP
  Fsdp,   ///< PyTorch's FullyShardedDataParallel: a layer's gradients are put together into that of its flat
          ///< parameter, and divided before they are reduced and behind it
  Fsdp2,  ///< PyTorch's fully_shard: gathered parameters are copied out of the buffer of the gather,
          ///< gradients into that of the reduce-scatter
  DeepSpeed,  ///< ZeRO-3: likewise, and gradients into a bucket first; they are divided before they are
              ///< reduced, and their norm is taken in FP64 in every step
};
constexpr auto names_of(Zero3Implementation) {
  return std::to_array<EnumName<Zero3Implementation>>({{Zero3Implementation::None, "none"},
                                                       {Zero3Implementation::Fsdp, "fsdp"},
                                                       {Zero3Implementation::Fsdp2, "fsdp2"},
                                                       {Zero3Implementation::DeepSpeed, "deepspeed"}});
}

/// The implementation of tensor parallelism.
enum class TensorLayers : std::uint8_t {
  Megatron,  ///< products of one input gather it once; backward hides what it gathers and sums
  DTensor,   ///< every product is a ColwiseParallel or RowwiseParallel of PyTorch by itself: it gathers its
             ///< own input and sums its own gradient, under nothing, and tokens are put in the order of
             ///< samples
};
constexpr auto names_of(TensorLayers) {
  return std::to_array<EnumName<TensorLayers>>(
      {{TensorLayers::Megatron, "megatron"}, {TensorLayers::DTensor, "dtensor"}});
}

/// How attention works when a sequence is cut.
enum class ContextAttention : std::uint8_t {
  Ring,  ///< keys and values travel round the group while attention goes on (Liu et al., arXiv 2310.01889)
  AllGather,  ///< keys and values of all are gathered first (Llama 3, arXiv 2407.21783, section 3.3.2)
};
constexpr auto names_of(ContextAttention) {
  return std::to_array<EnumName<ContextAttention>>(
      {{ContextAttention::Ring, "ring"}, {ContextAttention::AllGather, "all_gather"}});
}

/// How a transformer is spread over GPUs: `{ tensor: 8, pipeline: 4, sharding: zero1 }`. What is left of the
/// GPUs is data parallel.
struct TransformerPlanSpec {
  int tensor = 1, pipeline = 1, context = 1, expert = 1, expert_tensor = 1;
  bool sequence_parallel = false, tensor_overlap = false;
  TensorLayers tensor_layers = TensorLayers::Megatron;
  bool scatter_gather = false;
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int chunks = 1;
  bool overlap_p2p = true, batch_p2p_sync = true;
  bool waits_before_passes = false;  ///< no key: of a plan search's probes, as if messages came to each pass
  std::vector<std::int64_t> stage_layers;
  ContextAttention context_attention = ContextAttention::Ring;
  Sharding sharding = Sharding::None;
  std::optional<int> shard_group;
  bool reshard_after_forward = true;
  int prefetch = 1;
  std::optional<Zero3Implementation> zero3_implementation;
  bool reduce_each_micro_batch = true, reduce_scatter = true;
  Offload offload = Offload::None;
  std::optional<int> offload_threads;
  Recompute recompute = Recompute::None;
  int recompute_every = 1;
  bool recompute_last_stage = true, recompute_early_stop = false;
  bool recompute_synchronize = false, partition_activations = false;
  bool overlap_gradients = true;
  bool fp32_gradients = true, average_in_collective = false;
  bool fuse_weight_gradients = true, overlap_input_gradients = true;
  std::string rank_order = "tp-cp-dp-pp";

  template <class Visitor>
  static void describe_pipeline(Visitor& key, TransformerPlanSpec& plan) {
    key.optional("pipeline", plan.pipeline, 1, "stages of layers");
    key.optional(
        "scatter_gather", plan.scatter_gather, false,
        "each tensor-parallel rank sends its share of what goes to the next stage, and the receivers gather "
        "(Megatron-LM until 2023, arXiv 2104.04473, section 4.1; DeepSpeed pipe_partitioned); else "
        "all send all. With sequence_parallel ranks have but their share, and nothing changes");
    key.optional("schedule", plan.schedule, PipelineSchedule::OneFOneB, "order of micro-batches in a stage");
    key.optional("chunks", plan.chunks, 1, "of layers a stage has (interleaved: at least 2)");
    key.optional(
        "overlap_p2p", plan.overlap_p2p, true,
        "interleaved: a chunk's input is asked for behind the chunk before, and nobody waits for what "
        "is sent (Megatron-LM's overlap_p2p_comm, since 2023); else outputs are exchanged for inputs "
        "behind each pair of a forward and a backward, and waited for");
    key.optional(
        "batch_p2p_sync", plan.batch_p2p_sync, true,
        "implementation megatron; 1f1b, gpipe, and interleaved without overlap_p2p: the host waits for the "
        "GPU behind each exchange of messages (Megatron-LM's batch_p2p_sync, its default); false as in "
        "DeepSpeed's pipelines");
    key.optional("stage_layers", plan.stage_layers, std::vector<std::int64_t>{},
                 "layers of each stage, or of each chunk in the order of layers, 0 too; as even as they go "
                 "when left out");
  }

  template <class Visitor>
  static void describe_sharding(Visitor& key, TransformerPlanSpec& plan) {
    key.optional("sharding", plan.sharding, Sharding::None, "what data-parallel ranks share: ZeRO, FSDP");
    key.optional(
        "shard_group", plan.shard_group, std::nullopt,
        "zero1 to zero3: ranks that share, replicas of each other beyond (hybrid shard, hybrid ZeRO); "
        "all when left out");
    key.optional("reshard_after_forward", plan.reshard_after_forward, true,
                 "zero3: parameters are dropped after forward and gathered again for backward");
    key.optional("prefetch", plan.prefetch, 1, "zero3: layers gathered ahead of the one that computes");
    key.optional(
        "zero3_implementation", plan.zero3_implementation, std::nullopt,
        "zero3: whose copies of parameters and gradients: none (Megatron-FSDP's buffers), those of PyTorch's "
        "FullyShardedDataParallel (fsdp) or of its fully_shard (fsdp2), DeepSpeed's (deepspeed). Left out: "
        "those of the model's framework: torchtitan and pytorch fsdp2, hugging_face and hugging_face_llama "
        "deepspeed, megatron and nanotron none; with offload torchtitan's and pytorch's are none too");
    key.optional(
        "reduce_each_micro_batch", plan.reduce_each_micro_batch, true,
        "zero3: gradients are reduced in every micro-batch; else whole ones are kept and reduced in the "
        "last (FSDP's no_sync, fully_shard's set_requires_gradient_sync)");
    key.optional(
        "reduce_scatter", plan.reduce_scatter, true,
        "zero1, implementation megatron: a rank gets the sums of its share of the gradients; false: all are "
        "flattened, summed at every rank and copied back, whatever it updates, as DeepSpeed's pipelines did "
        "until May 2021 (buffered_allreduce_fallback; GPT-NeoX 1.0)");
    key.optional(
        "offload", plan.offload, Offload::None,
        "zero1 to zero3: what is kept in host memory: nothing, gradients and optimizer states with the "
        "optimizer on the CPU (ZeRO-Offload), or with zero3 the parameters too");
    key.optional("offload_threads", plan.offload_threads, std::nullopt,
                 "offload: of a rank's optimizer on the CPU (OMP_NUM_THREADS, which torchrun sets to 1): 40 "
                 "million parameters a second each; left out: as many as memory's bandwidth keeps busy");
  }

  /// DeepSpeed's own checkpoints.
  template <class Visitor>
  static void describe_checkpoints(Visitor& key, TransformerPlanSpec& plan) {
    key.optional(
        "recompute_synchronize", plan.recompute_synchronize, false,
        "recompute full, implementation megatron: the host waits for the GPU before and behind each "
        "checkpointed layer, forward and backward (DeepSpeed's synchronize_checkpoint_boundary, GPT-NeoX's "
        "synchronize-each-layer)");
    key.optional(
        "partition_activations", plan.partition_activations, false,
        "recompute full, implementation megatron: a layer keeps a copy of its tensor-parallel rank's share "
        "of its input, which backward gathers into a new tensor, with one rank too (DeepSpeed's key)");
  }

  template <class Visitor>
  static void describe(Visitor& key, TransformerPlanSpec& plan) {
    key.optional("tensor", plan.tensor, 1, "ranks that share every matrix product of a layer");
    key.optional("sequence_parallel", plan.sequence_parallel, false,
                 "between the products they share the tokens (Korthikanti et al., arXiv 2205.05198)");
    key.optional(
        "tensor_overlap", plan.tensor_overlap, false,
        "sequence_parallel: gathers and sums go in pieces, one for each rank, under the pieces of the "
        "products that need or make them (Megatron-LM --tp-comm-overlap; torchtitan's asynchronous tensor "
        "parallelism)");
    key.optional("tensor_layers", plan.tensor_layers, TensorLayers::Megatron,
                 "sequence_parallel: whose layers: Megatron-LM's, or PyTorch's DTensor where every product "
                 "is parallel "
                 "by itself (ColwiseParallel with input_layouts Shard(1) for each of q, k, v, gate and up)");
    describe_pipeline(key, plan);
    key.optional("context", plan.context, 1, "ranks that share every sequence");
    key.optional("context_attention", plan.context_attention, ContextAttention::Ring,
                 "how its attention sees all keys");
    key.optional("expert", plan.expert, 1, "ranks that share the experts; they are data-parallel otherwise");
    key.optional("expert_tensor", plan.expert_tensor, 1, "ranks that share every expert's products");
    describe_sharding(key, plan);
    key.optional("recompute", plan.recompute, Recompute::None, "activations that backward computes again");
    key.optional("recompute_every", plan.recompute_every, 1,
                 "recompute full: of so many layers the last is recomputed, the others keep their "
                 "activations (torchtitan's selective_ac_option of a number)");
    key.optional("recompute_last_stage", plan.recompute_last_stage, true,
                 "recompute: the layers before the head too, whose backward follows their forward, as "
                 "Megatron-LM and DeepSpeed do; false keeps their activations");
    key.optional("recompute_early_stop", plan.recompute_early_stop, false,
                 "recompute full: the last product of a layer, whose result no backward reads, is not "
                 "recomputed, as PyTorch's checkpoint without re-entrance does since 2.1");
    describe_checkpoints(key, plan);
    key.optional("overlap_gradients", plan.overlap_gradients, true,
                 "gradients are reduced in buckets while backward goes on; else all at its end");
    key.optional("fp32_gradients", plan.fp32_gradients, true,
                 "gradients are summed and reduced in FP32; else in the type of matrix products");
    key.optional("average_in_collective", plan.average_in_collective, false,
                 "collectives average gradients (Megatron-LM's --ddp-average-in-collective, NeMo's and "
                 "Megatron-Bridge's recipes); else Megatron-LM scales them before, in a pass over the buffer "
                 "(up to zero2)");
    key.optional(
        "fuse_weight_gradients", plan.fuse_weight_gradients, true,
        "products add weights' gradients to those of earlier micro-batches themselves (Megatron-LM's "
        "gradient accumulation fusion, Transformer Engine); else a kernel behind each does, as with "
        "zero2, zero3, offload and nanotron");
    key.optional("overlap_input_gradients", plan.overlap_input_gradients, true,
                 "without sequence_parallel: tensor-parallel ranks sum the input's gradient of a layer under "
                 "the product for its weight's (Megatron-LM since 2022); else behind both products");
    key.optional("rank_order", plan.rank_order, "tp-cp-dp-pp",
                 "which ranks are neighbours, the nearest first: tensor, context, data, pipeline");
  }

  /// Whether a message between stages is a share of what every tensor-parallel rank has.
  [[nodiscard]] bool shares_messages() const { return scatter_gather && !sequence_parallel && tensor > 1; }

  /// Whether hosts wait for their GPUs behind each exchange of messages, where the implementation does.
  [[nodiscard]] bool waits_for_device() const {
    const bool overlaps = schedule == PipelineSchedule::Interleaved && overlap_p2p;
    return batch_p2p_sync && !overlaps && schedule != PipelineSchedule::ZeroBubble;
  }

  /// Whether products add to the gradients of earlier micro-batches.
  [[nodiscard]] bool fuses_weight_gradients() const {
    return fuse_weight_gradients && sharding <= Sharding::Zero1 && offload == Offload::None;
  }

  /// Whether gradients of a micro-batch are shared before those of the next are there.
  [[nodiscard]] bool shares_each_micro_batch() const {
    return sharding == Sharding::Zero2 || (sharding == Sharding::Zero3 && reduce_each_micro_batch);
  }

  /// ZeRO-3's copies, of a plan whose `zero3_implementation` is that of its framework.
  [[nodiscard]] Zero3Implementation copies() const {
    return zero3_implementation.value_or(Zero3Implementation::None);
  }

  /// Whether ZeRO-3 is PyTorch's.
  [[nodiscard]] bool is_fsdp() const {
    return zero3_implementation == Zero3Implementation::Fsdp ||
           zero3_implementation == Zero3Implementation::Fsdp2;
  }

  /// Whether what was gathered stays until gradients are reduced: FullyShardedDataParallel's SHARD_GRAD_OP
  /// under no_sync() (torch/distributed/fsdp/_runtime_utils.py, _should_free_in_backward).
  [[nodiscard]] bool keeps_gathered_parameters() const {
    return zero3_implementation == Zero3Implementation::Fsdp && !reshard_after_forward &&
           !reduce_each_micro_batch;
  }

  /// @throws FieldError for degrees below 1 and options that belong to others
  void check() const;

  bool operator==(const TransformerPlanSpec&) const = default;
};

}  // namespace lockstep
