#include "schedule/model_tensors.hpp"

#include <numeric>
#include <span>

#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {
namespace {

void add_mlp(std::vector<std::int64_t>& tensors, std::int64_t input, std::span<const std::int64_t> widths) {
  for (const std::int64_t width : widths) {
    tensors.push_back(input * width);
    tensors.push_back(width);
    input = width;
  }
}

std::vector<std::int64_t> tensors_of(const DlrmSpec& dlrm) {
  std::vector<std::int64_t> tensors;
  add_mlp(tensors, dlrm.bottom_mlp.front(), std::span{dlrm.bottom_mlp}.subspan(1));
  const std::int64_t width = dlrm.interaction_width();
  for (int layer = 0; layer < dlrm.cross_layers; ++layer) {
    tensors.insert(tensors.end(), {width * dlrm.cross_projection, dlrm.cross_projection * width, width});
  }
  add_mlp(tensors, width, dlrm.top_mlp);
  return tensors;
}

/// Tensors of a transformer that takes any plan, on one rank: embeddings, layers, last norm, output.
ModelTensors tensors_of_layers(const TransformerSpec& model) {
  ModelTensors all;
  all.dense.push_back(model.vocabulary * model.hidden);
  if (model.position_encoding == PositionEncoding::Learned) {
    all.dense.push_back(model.position_rows() * model.hidden);
  }
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const bool has_experts = model.experts && layer >= model.experts->dense_layers;
    const LayerParameters of_layer = parameters_of_layer(model, ParallelPlan{}, has_experts);
    all.dense.insert(all.dense.end(), of_layer.dense.begin(), of_layer.dense.end());
    if (of_layer.frozen > 0) {
      all.dense.push_back(of_layer.frozen);
    }
    for (const std::int64_t of_all : of_layer.expert) {
      const std::int64_t count = model.experts->count;
      all.expert.insert(all.expert.end(), static_cast<std::size_t>(count), of_all / count);
    }
  }
  add_norm(model, model.hidden, all.dense);
  if (!model.tied) {
    all.dense.push_back(model.vocabulary * model.hidden);
  }
  return all;
}

}  // namespace

double ModelTensors::elements() const {
  const auto sum = [](const std::vector<std::int64_t>& tensors) {
    return static_cast<double>(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
  };
  return sum(dense) + sum(expert);
}

ModelTensors model_tensors(const ModelSpec& model) {
  if (model.transformer && !model.transformer->is_in_modules()) {
    return tensors_of_layers(*model.transformer);
  }
  return {.dense = model.dlrm              ? tensors_of(*model.dlrm)
                   : model.transformer     ? model.transformer->parameters()
                   : model.encoder_decoder ? model.encoder_decoder->parameters()
                   : model.xlnet           ? model.xlnet->parameters()
                                           : cnn_parameters(model.cnn.value()),
          .expert = {}};
}

}  // namespace lockstep
