#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// A pipeline stage as all its parts see it: what it has of the model, and what of that is trained.
struct StageScope {
  const LayerScope& layer;
  const TrainingSetup& setup;
  int number = 0;

  [[nodiscard]] bool is_first(int chunk) const { return layer.plan.is_first(number, chunk); }
  [[nodiscard]] bool is_last(int chunk) const { return layer.plan.is_last(number, chunk); }
  [[nodiscard]] bool has_embedding() const { return is_first(0); }
  [[nodiscard]] bool has_head() const { return is_last(layer.plan.spec.chunks - 1); }
  [[nodiscard]] bool has_tables() const { return has_embedding() || has_head(); }
  [[nodiscard]] const LayerRange& layers_of(int chunk) const { return layer.plan.layers_of(number, chunk); }
  [[nodiscard]] Recompute recompute_of(int chunk) const { return layer.plan.recompute_of(number, chunk); }
  [[nodiscard]] Recompute recompute_of(int chunk, std::int64_t of_layer) const {
    return layer.plan.recompute_of(number, chunk, of_layer);
  }

  [[nodiscard]] bool has_experts(std::int64_t of_layer) const;
  /// The layer's number where it has experts.
  [[nodiscard]] std::optional<std::int64_t> expert_layer(std::int64_t of_layer) const;

  [[nodiscard]] bool optimizes() const { return setup.phases == Phases::Step; }
  [[nodiscard]] bool trains(ModelPart part, std::int64_t of_layer = 0) const {
    return !setup.frozen.has(part, of_layer);
  }
  /// The part that the output's weight is of.
  [[nodiscard]] ModelPart part_of_output() const {
    return layer.model.tied && has_embedding() ? ModelPart::Embedding : ModelPart::Head;
  }
  /// The layer that backward comes to last.
  [[nodiscard]] std::int64_t lowest_layer() const {
    return setup.frozen.lowest_reached(ModelPart::Layers, layer.model.layers, trains(ModelPart::Embedding));
  }
  /// Type of trained parameters.
  [[nodiscard]] DataType type_of_trained() const;

  /// Rows of a table of words on this rank.
  [[nodiscard]] std::int64_t vocabulary_share() const;
  [[nodiscard]] LayerParameters parameters(std::int64_t of_layer) const;
  /// Parameters of embedding or head, where this stage has them.
  [[nodiscard]] std::vector<std::int64_t> parameters_of_end(ModelPart part) const;
  /// Elements of tables of words that are frozen, embedding's and output's.
  [[nodiscard]] std::int64_t frozen_tables() const;
};

}  // namespace lockstep
