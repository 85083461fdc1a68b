#pragma once

#include "ops/workload/batch_loader.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/parallel/stage_scope.hpp"

namespace lockstep {

/// The two ends of a model where a pipeline stage has them: its batches and embedding, its head and loss.
class StageEnds {
 public:
  explicit StageEnds(const StageScope& stage)
      : stage_{stage}, scope_{stage.layer}, loader_{stage.layer.step, stage.setup, stage.layer.sizes.batch} {}

  void begin_step();
  void fetch(int chunk);
  void embedding_forward();
  void embedding_backward();
  void head_forward();
  void head_backward(BackwardParts parts);
  void loss();

  /// Bytes of the head that the forward pass of @p chunk keeps for its backward; 0 where it has none.
  [[nodiscard]] Bytes kept(int chunk) const;

 private:
  [[nodiscard]] CrossEntropyShape eager_loss() const;
  void eager_loss_forward();
  void eager_loss_backward();
  void read_loss();
  [[nodiscard]] bool compiles_loss() const;
  /// F.cross_entropy of a Llama that is not compiled, whose logits go when the head's backward has been.
  [[nodiscard]] bool has_eager_loss() const { return is_llama(scope_) && !compiles_loss(); }
  /// Logits in FP32, or as much of them.
  [[nodiscard]] Bytes wide_logits() const;
  [[nodiscard]] Bytes kept_by_last_norm() const;

  StageScope stage_;
  const LayerScope& scope_;
  BatchLoader loader_;
};

}  // namespace lockstep
