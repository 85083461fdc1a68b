#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {
namespace {

void add_norm(const TransformerSpec& model, std::int64_t columns, std::vector<std::int64_t>& all) {
  all.push_back(columns);
  if (model.normalisation == Normalisation::Layer && model.bias) {
    all.push_back(columns);
  }
}

void add_linear(const TransformerSpec& model, std::int64_t in, std::int64_t out, std::int64_t biases,
                std::vector<std::int64_t>& all) {
  all.push_back(in * out);
  if (model.bias) {
    all.push_back(biases);
  }
}

void add_attention(const TransformerSpec& model, const LayerSizes& s, std::vector<std::int64_t>& all) {
  add_norm(model, s.hidden, all);
  const auto& latent = model.latent_attention;
  if (!latent) {
    const std::int64_t out = s.query_width() + 2 * s.kv_width();
    add_linear(model, s.hidden, out, out, all);
    add_linear(model, s.query_width(), s.hidden, s.hidden, all);
    return;
  }
  all.insert(all.end(), {s.hidden * latent->query_rank, latent->query_rank,
                         latent->query_rank * s.heads * (s.head_size + latent->rotary_size),
                         s.hidden * (latent->key_value_rank + latent->rotary_size), latent->key_value_rank,
                         latent->key_value_rank * s.heads * (s.head_size + latent->value_size),
                         s.heads * latent->value_size * s.hidden});
}

void add_feed_forward(const TransformerSpec& model, const LayerSizes& s, std::int64_t width,
                      std::vector<std::int64_t>& all) {
  const std::int64_t in = width * (model.activation == Activation::SwiGlu ? 2 : 1);
  add_linear(model, s.hidden, in, in, all);
  add_linear(model, width, s.hidden, s.hidden, all);
}

}  // namespace

LayerParameters parameters_of_layer(const TransformerSpec& model, const ParallelPlan& plan,
                                    bool has_experts) {
  const LayerSizes sizes = layer_sizes(model, plan);
  LayerParameters all;
  add_attention(model, sizes, all.dense);
  add_norm(model, sizes.hidden, all.dense);
  if (!has_experts) {
    add_feed_forward(model, sizes, sizes.feed_forward, all.dense);
    return all;
  }
  const ExpertsSpec& experts = *model.experts;
  all.dense.push_back(sizes.hidden * experts.count);  // router
  if (experts.shared > 0) {
    add_feed_forward(model, sizes, experts.shared * experts.feed_forward / plan.spec.tensor, all.dense);
  }
  const std::int64_t width = experts.feed_forward / plan.spec.expert_tensor,
                     here = experts.count / plan.spec.expert;
  const std::int64_t in = width * (model.activation == Activation::SwiGlu ? 2 : 1);
  all.expert = {here * sizes.hidden * in, here * width * sizes.hidden};
  return all;
}

}  // namespace lockstep
