#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"
#include "ops/workload/parallel/neighbour_messages.hpp"
#include "ops/workload/parallel/parameter_gather.hpp"
#include "ops/workload/parallel/stage_ends.hpp"
#include "ops/workload/parallel/stage_parameters.hpp"

namespace lockstep {

/// The ranks that a StageWriter's Program is for.
struct StageRanks {
  int stage = 0;
  BytesPerSecond host_bandwidth{0};  ///< of each one's share of host memory; > 0 where the plan offloads
};

/// Writes the step of one pipeline stage: the Program of all ranks of that stage on hosts of one kind.
/// Actions of the schedule and the layers in them are its own; parameters, ends and messages are parts with
/// their own state.
class StageWriter {
 public:
  StageWriter(StepWriter& step, const TransformerSpec& model, const ParallelPlan& plan,
              const TrainingSetup& setup, const StageRanks& ranks);
  StageWriter(const StageWriter&) = delete;
  StageWriter& operator=(const StageWriter&) = delete;

  void write();

  [[nodiscard]] const MemoryLedger& memory() const { return memory_; }
  /// Host memory, for each rank.
  [[nodiscard]] const MemoryLedger& host_memory() const { return host_memory_; }

 private:
  /// Instructions written for an action, to be repeated for those like it.
  struct CachedAction {
    StageAction::Kind kind;
    int chunk;
    NeighbourMessages::Neighbours around;  ///< of actions, their chunks alone
    NeighbourMessages::Pending before, after;
    std::array<std::size_t, 2> instructions, memory;  ///< from, to; numbers of changes
  };

  void act(const StageAction& action, const NeighbourMessages::Neighbours& around);
  [[nodiscard]] std::size_t instructions_to_come() const;
  [[nodiscard]] bool is_like_others(const StageAction& action) const;
  void write(const StageAction& action);
  void forward(const StageAction& action);
  void backward(const StageAction& action, BackwardParts parts);
  void backward_of_layers(const StageAction& action, BackwardParts parts);
  void cast_fp8_weights(std::int64_t layer, bool first);
  void update_fp8_scales(int chunk, std::int64_t tensors_of_product);
  void layer_forward(std::int64_t layer, bool differentiated);
  void layer_again(std::int64_t layer, Recompute recompute);
  void layer_backward(std::int64_t layer, BackwardParts parts);
  void update();
  [[nodiscard]] Bytes kept_by_chunk(int chunk) const;
  void plan_gathers(int chunk, bool forward);
  [[nodiscard]] bool drops_parameters(const StageAction& action) const;

  MemoryLedger memory_, host_memory_;
  HostOptimizer host_optimizer_;
  GradientReduction gradients_;
  LayerScope scope_;
  StageScope stage_;
  StageParameters parameters_;
  ParameterGather gather_;
  StageEnds ends_;
  NeighbourMessages messages_;
  std::vector<CachedAction> cached_actions_;
  std::array<std::size_t, 3> actions_left_{}, latest_length_{};  ///< by kind; in instructions
};

}  // namespace lockstep
