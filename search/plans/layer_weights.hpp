#pragma once

#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// Weights of a layer's matrix products.
struct LayerWeights {
  double dense = 0;    ///< attention, and the feed-forward products of a model without experts
  double expert = 0;   ///< of one expert
  double experts = 0;  ///< how many a layer has
  double met = 0;      ///< how many of them a token meets
};

/// Weights of a layer: 2 h q + 2 h k, and 2 h f, or 3 h f with SwiGLU. h is the width, q and k the widths of
/// queries and keys, f the width between. Latent attention does not count (its matrices are of low rank). An
/// expert layer counts only with what is shared among experts' ranks.
[[nodiscard]] LayerWeights layer_weights(const TransformerSpec& model);

}  // namespace lockstep
