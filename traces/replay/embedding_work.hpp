#pragma once

/// @file
/// Look-ups of FBGEMM's fused embedding tables, and their backward passes, in the words of the kernel models.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "traces/replay/operator_work.hpp"

namespace lockstep::replay {

/// What the shapes of `fbgemm::split_embedding_codegen_lookup_..._function` (or `dense_`) say.
struct RecordedLookup {
  std::int64_t tables = 0, batch = 0;
  std::int64_t lookups = 0;  ///< of all tables
  double weights = 0;        ///< elements of all tables
  double rows = 0;           ///< of all tables, by the row-wise state of the optimizer; 0: not said
  DataType type = DataType::FP32;
};

/// None where @p op is none, or its arguments are not FBGEMM's.
[[nodiscard]] std::optional<RecordedLookup> recorded_lookup(const OperatorArguments& op);

/// Which look-up a backward pass belongs to, and the other way round, by number of the operator: autograd's
/// node has the sequence number of the operators before the look-up.
[[nodiscard]] std::map<std::uint32_t, std::uint32_t> lookup_pairs(const kineto::RecordedTrace& trace);

/// Tables are taken to be alike and all rows equally popular: shapes do not say more. How wide rows are
/// follows from the gradient, or from a row-wise optimizer's state.
[[nodiscard]] std::vector<ModelledWork> embedding_forward(const OperatorLaunches& op);

/// Passes over the look-ups, and one work for the rows; that is left out for optimizers that the models do
/// not have.
[[nodiscard]] std::vector<ModelledWork> embedding_backward(const OperatorLaunches& op);

}  // namespace lockstep::replay
