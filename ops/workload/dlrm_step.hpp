#pragma once

#include <vector>

#include "ops/workload/dlrm.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/layers/embedding_bag.hpp"
#include "ops/workload/layers/interaction.hpp"
#include "ops/workload/layers/mlp.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The phases of one DLRM training step, in the order of the training loop.
class DlrmStep {
 public:
  /// @param tables by rank
  DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
           std::vector<std::vector<EmbeddingTable>> tables);

  void write();

 private:
  void copy_inputs();
  void forward();
  void loss();
  void backward();
  void update();

  EventId start_exchange();           ///< All2All_Req: pooled rows to where their samples are
  EventId start_gradient_exchange();  ///< All2All_WaitBackward
  void end_gradient_exchange(EventId end);
  [[nodiscard]] CollectiveCall exchange(std::size_t rank, GroupId world, bool backward) const;
  [[nodiscard]] bool is_distributed() const { return step_.ranks() > 1; }
  [[nodiscard]] Optimizer optimizer() const;

  StepWriter& step_;
  const DlrmSpec& spec_;
  const TrainingSetup& setup_;
  std::int64_t local_batch_;
  EmbeddingBagShape bags_;
  std::int64_t all_widths_ = 0;  ///< of all tables of all ranks
  MlpShape bottom_, top_;
  InteractionShape interaction_;
  std::vector<std::int64_t> parameters_;
};

}  // namespace lockstep
