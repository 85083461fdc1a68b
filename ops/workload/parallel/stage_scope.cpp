#include "ops/workload/parallel/stage_scope.hpp"

#include "ops/workload/element_count.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"

namespace lockstep {

bool StageScope::has_experts(std::int64_t of_layer) const {
  return layer.model.experts && of_layer >= layer.model.experts->dense_layers;
}

std::optional<std::int64_t> StageScope::expert_layer(std::int64_t of_layer) const {
  return has_experts(of_layer) ? std::optional{of_layer} : std::nullopt;
}

DataType StageScope::type_of_trained() const {
  return has_fp32_adapters(layer) ? DataType::FP32 : layer.storage();
}

/// Megatron-LM pads the vocabulary to a multiple of 128 for each rank (--make-vocab-size-divisible-by),
/// nanotron to one of the ranks (make_vocab_size_divisible_by: 1, nanotron/helpers.py); torchtitan does not.
std::int64_t StageScope::vocabulary_share() const {
  const std::int64_t multiple = is_eager(layer) || is_llama(layer) ? 1 : 128;
  const std::int64_t whole = multiple * layer.plan.spec.tensor;
  return (layer.model.vocabulary + whole - 1) / whole * multiple;
}

LayerParameters StageScope::parameters(std::int64_t of_layer) const {
  LayerParameters parameters = parameters_of_layer(layer.model, layer.plan, has_experts(of_layer));
  if (!trains(ModelPart::Layers, of_layer)) {
    parameters.frozen += elements_of(parameters.dense);
    parameters.dense.clear();
  }
  return parameters;
}

/// Leaves a table that both ends share to the embedding.
std::vector<std::int64_t> StageScope::parameters_of_end(ModelPart part) const {
  const TransformerSpec& model = layer.model;
  std::vector<std::int64_t> end;
  const std::int64_t table = vocabulary_share() * model.hidden;
  if (part == ModelPart::Embedding && has_embedding()) {
    end.push_back(table);
    if (model.position_encoding == PositionEncoding::Learned) {
      end.push_back(model.positions * model.hidden);
    }
  }
  if (part == ModelPart::Head && has_head()) {
    add_norm(model, model.hidden, end);
    if (!model.tied || !has_embedding()) {
      end.push_back(table);
    }
  }
  return end;
}

std::int64_t StageScope::frozen_tables() const {
  const int embedding = has_embedding() && !trains(ModelPart::Embedding) ? 1 : 0;
  const int output = has_head() && part_of_output() == ModelPart::Head && !trains(ModelPart::Head) ? 1 : 0;
  return vocabulary_share() * layer.model.hidden * (embedding + output);
}

}  // namespace lockstep
