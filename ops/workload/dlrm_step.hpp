#pragma once

#include <vector>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/dlrm_embeddings.hpp"
#include "ops/workload/dlrm_inputs.hpp"
#include "ops/workload/dlrm_memory.hpp"
#include "ops/workload/layers/interaction.hpp"
#include "ops/workload/layers/mlp.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The phases of one DLRM training step, in the order of the training loop.
class DlrmStep {
 public:
  DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
           std::vector<ShardGroup> tables);

  void write();

  /// For dlrm_memory and dlrm_host_memory; valid as long as this object lives.
  [[nodiscard]] DlrmMemoryShape memory_shape() const;

 private:
  void forward();
  void loss();
  void backward();
  void update();

  [[nodiscard]] bool is_distributed() const { return step_.ranks() > 1; }
  [[nodiscard]] Optimizer optimizer() const;

  StepWriter& step_;
  const DlrmSpec& spec_;
  const TrainingSetup& setup_;
  std::int64_t local_batch_;
  DlrmEmbeddings embeddings_;
  DlrmInputs inputs_;
  MlpShape bottom_, top_;
  InteractionShape interaction_;
  std::vector<std::int64_t> mlp_parameters_;
  std::vector<std::int64_t> parameters_;  ///< of the dense optimizer: data-parallel tables too
};

}  // namespace lockstep
