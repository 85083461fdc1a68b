
#include "ops/workload/element_count.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"

namespace lockstep {

void add_norm(const TransformerSpec& model, std::int64_t columns, std::vector<std::int64_t>& all) {
  all.push_back(columns);
  if (model.normalisation == Normalisation::Layer && model.bias) {
    all.push_back(columns);
  }
}

namespace {

void add_product(std::int64_t elements, std::vector<std::int64_t>& of_kind, LayerParameters& all) {
  of_kind.push_back(elements);
  all.linear += elements;
  ++all.linear_layers;
}

void add_linear(const TransformerSpec& model, std::int64_t in, std::int64_t out, LayerParameters& all) {
  add_product(in * out, all.dense, all);
  if (model.bias) {
    all.dense.push_back(out);
  }
}

void add_attention(const TransformerSpec& model, const LayerSizes& s, LayerParameters& all) {
  add_norm(model, s.hidden, all.dense);
  const auto& latent = model.latent_attention;
  if (!latent) {
    add_linear(model, s.hidden, s.query_width() + 2 * s.kv_width(), all);
    if (model.qkv_bias) {
      all.dense.push_back(s.query_width() + 2 * s.kv_width());
    }
    if (model.qk_norm) {
      add_norm(model, s.head_size, all.dense);
      add_norm(model, s.head_size, all.dense);
    }
    add_linear(model, s.query_width(), s.hidden, all);
    return;
  }
  if (latent->query_rank) {
    add_product(s.hidden * *latent->query_rank, all.dense, all);
    all.dense.push_back(*latent->query_rank);
  }
  add_product(latent->query_rank.value_or(s.hidden) * s.heads * (s.head_size + latent->rotary_size),
              all.dense, all);
  add_product(s.hidden * (latent->key_value_rank + latent->rotary_size), all.dense, all);
  all.dense.push_back(latent->key_value_rank);
  add_product(latent->key_value_rank * s.heads * (s.head_size + latent->value_size), all.dense, all);
  add_product(s.heads * latent->value_size * s.hidden, all.dense, all);
}

void add_feed_forward(const TransformerSpec& model, const LayerSizes& s, std::int64_t width,
                      LayerParameters& all) {
  add_linear(model, s.hidden, width * (model.activation == Activation::SwiGlu ? 2 : 1), all);
  add_linear(model, width, s.hidden, all);
}

/// Replaces a dense layer's parameters, which are frozen, by those of the adapters beside its products.
void freeze(const TransformerSpec& model, const LayerSizes& s, int tensor, LayerParameters& all) {
  all.frozen = elements_of(all.dense);
  all.dense.clear();
  const std::int64_t parts = model.activation == Activation::SwiGlu ? 2 : 1;
  const auto adapt = [&](LoraModule module, std::int64_t in, std::int64_t out, SharedSide side) {
    const ShardedLinear shape{.in = in, .out = out, .rank = rank_of(model, module)};
    const std::vector<std::int64_t> of_adapter = adapter_parameters(shape, side, tensor);
    all.dense.insert(all.dense.end(), of_adapter.begin(), of_adapter.end());
  };
  adapt(LoraModule::LinearQkv, s.hidden, s.query_width() + 2 * s.kv_width(), SharedSide::Outputs);
  adapt(LoraModule::LinearProj, s.query_width(), s.hidden, SharedSide::Inputs);
  adapt(LoraModule::LinearFc1, s.hidden, parts * s.feed_forward, SharedSide::Outputs);
  adapt(LoraModule::LinearFc2, s.feed_forward, s.hidden, SharedSide::Inputs);
  adapt(LoraModule::QProj, s.hidden, s.query_width(), SharedSide::Outputs);
  adapt(LoraModule::KProj, s.hidden, s.kv_width(), SharedSide::Outputs);
  adapt(LoraModule::VProj, s.hidden, s.kv_width(), SharedSide::Outputs);
  adapt(LoraModule::OProj, s.query_width(), s.hidden, SharedSide::Outputs);
  adapt(LoraModule::GateProj, s.hidden, s.feed_forward, SharedSide::Outputs);
  adapt(LoraModule::UpProj, s.hidden, s.feed_forward, SharedSide::Outputs);
  adapt(LoraModule::DownProj, s.feed_forward, s.hidden, SharedSide::Outputs);
}

}  // namespace

LayerParameters parameters_of_layer(const TransformerSpec& model, const ParallelPlan& plan,
                                    bool has_experts) {
  const LayerSizes sizes = layer_sizes(model, plan);
  LayerParameters all;
  add_attention(model, sizes, all);
  if (model.residual != Residual::ParallelOneNorm) {
    add_norm(model, sizes.hidden, all.dense);
  }
  if (!has_experts) {
    add_feed_forward(model, sizes, sizes.feed_forward, all);
    if (model.lora) {
      freeze(model, sizes, plan.spec.tensor, all);
    }
    return all;
  }
  const ExpertsSpec& experts = *model.experts;
  all.dense.push_back(sizes.hidden * experts.count);  // router
  if (experts.shared > 0) {
    add_feed_forward(model, sizes, experts.shared * experts.feed_forward / plan.spec.tensor, all);
  }
  const std::int64_t width = experts.feed_forward / plan.spec.expert_tensor,
                     here = experts.count / plan.spec.expert;
  const std::int64_t in = width * (model.activation == Activation::SwiGlu ? 2 : 1);
  add_product(here * sizes.hidden * in, all.expert, all);
  add_product(here * width * sizes.hidden, all.expert, all);
  return all;
}

}  // namespace lockstep
