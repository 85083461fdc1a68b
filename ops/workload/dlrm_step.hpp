#pragma once

#include <array>
#include <vector>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/dlrm_embeddings.hpp"
#include "ops/workload/dlrm_inputs.hpp"
#include "ops/workload/dlrm_memory.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/cross_network.hpp"
#include "ops/workload/layers/interaction.hpp"
#include "ops/workload/layers/mlp.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The phases of one DLRM training step, in the order of the training loop.
///
/// With fp16 and bf16 it is under torch.autocast: MLPs compute in 16 bits from FP32 weights; the tables and
/// what they look up stay FP32, but for fused interactions and joint tables, which take features in 16 bits;
/// fp16 scales the loss.
class DlrmStep {
 public:
  DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup, std::vector<ShardGroup> tables,
           DlrmPart part);

  void write();

  /// For dlrm_memory and dlrm_host_memory; valid as long as this object lives.
  [[nodiscard]] DlrmMemoryShape memory_shape() const;

 private:
  void forward();
  void forward_bottom();
  void forward_tables();
  void loss();
  void backward();
  void backward_below_top(GradientSink& gradients);
  void backward_bottom(GradientSink& gradients);
  void backward_tables();
  void update_dense();
  void update();
  /// Notes where a part begins, once.
  void begin(DlrmMoment moment);

  [[nodiscard]] bool is_distributed() const { return step_.ranks() > 1; }
  /// The bottom MLP is on the first of several ranks.
  [[nodiscard]] bool is_hybrid() const {
    return is_distributed() && spec_.bottom_mlp_placement == BottomMlpPlacement::FirstRank;
  }
  [[nodiscard]] bool trains(ModelPart part) const { return !setup_.frozen.has(part); }
  /// Backward goes on below the top MLP.
  [[nodiscard]] bool trains_below_top() const {
    return trains(ModelPart::BottomMlp) || trains(ModelPart::Embedding);
  }
  [[nodiscard]] bool scales_loss() const { return setup_.precision == Precision::FP16; }
  [[nodiscard]] DataType feature_type() const;
  [[nodiscard]] InteractionShape interaction_shape() const;
  [[nodiscard]] Optimizer optimizer() const;

  StepWriter& step_;
  const DlrmSpec& spec_;
  const TrainingSetup& setup_;
  DlrmPart part_;
  std::int64_t local_batch_;
  DlrmEmbeddings embeddings_;
  DlrmInputs inputs_;
  MlpShape bottom_, top_;
  InteractionShape interaction_;
  CrossShape cross_;
  std::vector<std::int64_t> shared_parameters_;  ///< trained ones of the MLPs that are data-parallel
  std::vector<std::int64_t> parameters_;         ///< of the dense optimizer: data-parallel tables too
  std::array<ProgramPosition, kDlrmMoments> moments_{};
};

}  // namespace lockstep
