#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/workload/parallel/plan_spec.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// A range of layers of the model.
struct LayerRange {
  std::int64_t first = 0, count = 0;
};

/// Ranks that hold the same parameters, and those of them that share what ZeRO shares.
struct Replication {
  int replicas = 1;  ///< that reduce gradients
  int shard = 1;     ///< neighbours among them that share: fewer with a shard_group
  std::string_view all, neighbours, counterparts;  ///< kinds of process groups

  [[nodiscard]] bool is_hybrid() const { return shard < replicas; }
  [[nodiscard]] std::string_view shard_group() const { return is_hybrid() ? neighbours : all; }
};

/// A TransformerPlanSpec for one model, batch and number of GPUs: everything adds up.
struct ParallelPlan {
  TransformerPlanSpec spec;
  int ranks = 1;
  int data = 1;          ///< ranks / (tensor x context x pipeline)
  int expert_data = 1;   ///< replicas of an expert: tensor x context x data / (expert_tensor x expert)
  int shard = 1;         ///< data-parallel ranks that share what ZeRO shares
  int expert_shard = 1;  ///< likewise replicas of an expert
  std::int64_t micro_batch = 0;  ///< samples of a data-parallel rank
  int micro_batches = 1;         ///< per step
  /// Ranks of a stage that run its program with slots of their own: they differ in the context place, and
  /// where experts' loads are uneven in the place of their expert group.
  int expert_places = 1;  ///< that differ
  bool pure = false;      ///< MixedPrecision::Pure: parameters, gradients and moments, too
  [[nodiscard]] int variants() const { return spec.context * expert_places; }
  [[nodiscard]] int variant(int context, int expert) const {
    return context + spec.context * (expert_places > 1 ? expert : 0);
  }
  [[nodiscard]] std::size_t expert_place(std::size_t variant) const {
    return variant / static_cast<std::size_t>(spec.context);
  }
  /// Layers by chunk, in the order of the model; chunk c of stage s is at c x pipeline + s.
  std::vector<LayerRange> layers;

  [[nodiscard]] int replicas() const { return data * spec.context; }  ///< that reduce dense gradients
  [[nodiscard]] Replication replication(bool expert) const {
    return expert ? Replication{expert_data, expert_shard, "edp", "expert shard", "expert replica"}
                  : Replication{replicas(), shard, "dp", "shard", "replica"};
  }
  /// zero3: parameters are kept in shares, or on the host, and collected before they are used.
  [[nodiscard]] bool gathers(bool expert) const {
    return spec.sharding == Sharding::Zero3 &&
           (replication(expert).shard > 1 || spec.offload == Offload::Parameters);
  }
  /// Shares of parameters and gradients are kept in FP32 alone, and cast for collectives.
  [[nodiscard]] bool casts_shares() const { return spec.is_fsdp() && !pure; }
  /// Gradients are summed and reduced in FP32. Of what is in 16 bits throughout FSDP alone reduces in others
  /// (reduce_dtype).
  [[nodiscard]] bool has_fp32_gradients() const { return spec.fp32_gradients && (!pure || spec.is_fsdp()); }
  /// Whether the gradients that the optimizer reads are FP32, whatever they were reduced in.
  [[nodiscard]] bool has_fp32_gradient_shares() const {
    return !pure && (spec.fp32_gradients || spec.is_fsdp());
  }
  [[nodiscard]] bool is_first(int stage, int chunk) const { return stage == 0 && chunk == 0; }
  [[nodiscard]] bool is_last(int stage, int chunk) const {
    return stage + 1 == spec.pipeline && chunk + 1 == spec.chunks;
  }
  /// The recomputation that backward of a chunk does.
  [[nodiscard]] Recompute recompute_of(int stage, int chunk) const {
    return is_last(stage, chunk) && !spec.recompute_last_stage ? Recompute::None : spec.recompute;
  }
  /// The same for one of its layers.
  [[nodiscard]] Recompute recompute_of(int stage, int chunk, std::int64_t layer) const {
    return (layer + 1) % spec.recompute_every == 0 ? recompute_of(stage, chunk) : Recompute::None;
  }
  [[nodiscard]] const LayerRange& layers_of(int stage, int chunk) const {
    return layers[static_cast<std::size_t>(chunk) * static_cast<std::size_t>(spec.pipeline) +
                  static_cast<std::size_t>(stage)];
  }
};

/// Data-parallel replicas of a model so spread.
/// @throws std::invalid_argument where @p ranks are no multiple of what one replica takes
[[nodiscard]] int replicas_of(const TransformerPlanSpec& spec, int ranks);

/// Layers in @p parts consecutive parts: as even as they go, the first and the last part the first to have
/// fewer, because they hold the embedding and the head too.
[[nodiscard]] std::vector<LayerRange> split_layers(std::int64_t layers, int parts);

/// The layers of a pipeline's chunks, in the order of the model: `stage_layers`, or even ones.
/// @pre the plan says so many layers, or none
[[nodiscard]] std::vector<LayerRange> layers_of_chunks(const TransformerPlanSpec& spec, std::int64_t layers);

/// @param micro_batches per step
/// @throws std::invalid_argument with a sentence about what does not divide
[[nodiscard]] ParallelPlan make_plan(const TransformerPlanSpec& spec, const TransformerSpec& model, int ranks,
                                     std::int64_t global_batch, int micro_batches);

}  // namespace lockstep
