#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/layers/xlnet_attention.hpp"

namespace lockstep {

/// XLNetLayer: attention and feed-forward, each with its norm last.
struct XlnetLayerShape {
  XlnetAttentionShape attention;
  std::int64_t feed_forward = 0;

  [[nodiscard]] std::int64_t inner() const { return attention.rows() * feed_forward; }  ///< elements between
};

void xlnet_layer_forward(StepWriter& step, const XlnetLayerShape& shape);
void xlnet_layer_backward(StepWriter& step, const XlnetLayerShape& shape, GradientSink& gradients);

/// Elements of the parameters that learn, in their order: those of segments only where these are given.
[[nodiscard]] std::vector<std::int64_t> parameters_of(const XlnetLayerShape& shape);

}  // namespace lockstep
