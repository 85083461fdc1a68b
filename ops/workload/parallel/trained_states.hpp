#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Parameters of a rank that are trained, all of the same replication.
struct TrainedStates {
  double elements = 0;
  bool expert = false;
  DataType type = DataType::FP32;  ///< of the parameters
  bool optimizes = true;           ///< there is an optimizer, with its states
};

/// Allocates what stays from step to step: parameters, the master weights and moments, and gradients. States
/// take 12 B with mixed precision, 8 B beside FP32 parameters and 4 B where all is in 16 bits. All is on the
/// GPU (the scope's memory), or on the @p host, where FP32 parameters have a master copy too.
void allocate_trained(const LayerScope& scope, MemoryLedger& host, const TrainedStates& states);

/// zero3: gradients of @p elements of a unit between the products that make them and the end of their
/// reduction: what products leave, unless whole ones are kept, and what is copied for the collective.
[[nodiscard]] Bytes passing_gradients(const LayerScope& scope, std::int64_t elements);

}  // namespace lockstep
