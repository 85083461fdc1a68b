#include "search/plans/layer_weights.hpp"

namespace lockstep {

LayerWeights layer_weights(const TransformerSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto queries = static_cast<double>(model.heads * model.size_of_head());
  const auto keys = static_cast<double>(model.key_value_heads() * model.size_of_head());
  const double matrices = model.activation == Activation::SwiGlu ? 3 : 2;
  LayerWeights parameters;
  parameters.dense = model.latent_attention ? 0 : 2 * hidden * (queries + keys);
  if (!model.experts) {
    parameters.dense += matrices * hidden * static_cast<double>(model.feed_forward_width());
    return parameters;
  }
  parameters.expert = matrices * hidden * static_cast<double>(model.experts->feed_forward);
  parameters.experts = static_cast<double>(model.experts->count);
  parameters.met = static_cast<double>(model.experts->per_token);
  return parameters;
}

}  // namespace lockstep
