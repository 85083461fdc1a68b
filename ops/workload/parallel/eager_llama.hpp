#pragma once

/// @file
/// Llama as Meta wrote it and torchtitan trains it (torchtitan/models/llama/model.py and norms.py of 2024),
/// eager: every operator between the products is a kernel of its own, norms and rotations in FP32. Hugging
/// Face's differs in rotations and attention (llama_attention.hpp).

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// The part of a layer that is computed: all of it, or what backward needs and was not kept.
enum class LayerPass : std::uint8_t {
  Forward,          ///< all
  UpToLastProduct,  ///< a checkpoint that stops early: no backward reads the last product's result
  Operators,  ///< all but attention's core and every second product (torchtitan's selective_ac_option op)
};

/// RMSNorm: in FP32 a square, its mean, a root and a product; cast back, times the gain.
void eager_norm_forward(const LayerScope& scope, std::int64_t rows, std::int64_t columns);
/// The norm's backward; the gradient of what was normalised is added to that of the residual stream.
void eager_norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns,
                         BackwardParts parts);

void eager_llama_forward(const LayerScope& scope, LayerPass pass);
void eager_llama_backward(const LayerScope& scope, BackwardParts parts);

/// Bytes that a layer keeps for backward.
[[nodiscard]] Bytes kept_by_eager_llama(const LayerScope& scope, Recompute recompute);

}  // namespace lockstep
