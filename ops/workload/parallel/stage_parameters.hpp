#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/parallel/parameter_gather.hpp"
#include "ops/workload/parallel/stage_scope.hpp"

namespace lockstep {

/// The state that a pipeline stage keeps from step to step, on the GPU and on the host: parameters, gradients
/// and optimizer states; and what it does with them at the end of a step.
class StageParameters {
 public:
  /// @param host_memory ledger of each rank's host
  StageParameters(const StageScope& stage, HostOptimizer& host_optimizer, MemoryLedger& host_memory);

  void allocate_states();
  /// Clears gradients that are not dropped.
  void begin_step();
  /// Behind the reduction of gradients, whose last messages have come.
  void finish_gradients();
  void update();

  /// The units that gathers bring together, in order: embedding and head, then the stage's layers.
  [[nodiscard]] std::vector<GatherUnit> units() const;
  /// Gradients of a layer between their kernel and their reduction.
  [[nodiscard]] Bytes passing_gradients(std::int64_t layer) const;
  /// PyTorch's FSDP: the gradient of a head of its own from the beginning of a backward pass to its end.
  [[nodiscard]] Bytes waiting_gradients(int chunk) const;

 private:
  void allocate_frozen();
  [[nodiscard]] bool uses_torch_optimizer() const;
  /// Trained elements of weights of FP8 products: all of experts, or the others.
  [[nodiscard]] std::int64_t fp8_elements_of(bool expert) const;

  StageScope stage_;
  const LayerScope& scope_;
  HostOptimizer& host_optimizer_;
  MemoryLedger& host_memory_;
  std::vector<std::int64_t> dense_, expert_;         // elements of this rank's parameters that are trained
  std::int64_t frozen_ = 0;                          // and of those that are not
  std::int64_t fp8_copies_ = 0;                      // elements of weights that have FP8 copies at a time
  std::int64_t fp8_elements_ = 0, fp8_weights_ = 0;  // of all weights of FP8 products, and how many there are
};

}  // namespace lockstep
