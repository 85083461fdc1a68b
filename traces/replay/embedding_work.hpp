#pragma once

/// @file
/// Lookups of FBGEMM's fused embedding tables, their backward passes, and lookups of PyTorch's
/// EmbeddingBag, in the words of the kernel models.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "traces/replay/operator_work.hpp"

namespace lockstep::replay {

/// Sizes by the shapes of `fbgemm::split_embedding_codegen_lookup_..._function` (or `dense_`).
struct RecordedLookup {
  std::int64_t tables = 0, batch = 0;
  std::int64_t lookups = 0;  ///< of all tables
  double weights = 0;        ///< elements of all tables
  double rows = 0;           ///< of all tables, by the row-wise state of the optimizer; 0: not said
  std::int64_t width = 0;    ///< `total_D`, columns of all tables together; 0: values are not recorded
  std::int64_t widest = 0;   ///< `max_D`, columns of the widest; 0: likewise
  DataType type = DataType::FP32;
};

/// None where @p op is none, or its arguments are not FBGEMM's.
[[nodiscard]] std::optional<RecordedLookup> recorded_lookup(const OperatorArguments& op);

/// The lookup that each backward pass belongs to, and the other way round, by number of the operator.
/// Autograd's node has the sequence number of the operators before the lookup.
[[nodiscard]] std::map<std::uint32_t, std::uint32_t> lookup_pairs(const kineto::RecordedTrace& trace);

/// Tables are those of `tables` where somebody names them (named_tables.hpp). Else rows and lookups differ
/// from table to table as in a production plan, and all rows of a table are equally popular: how many each
/// has is in tensors whose values no trace holds. How wide rows are is said where values of arguments are
/// recorded (execution traces, or Kineto since PyTorch 2.0): one table is as wide as the widest, the others
/// share the rest; else it follows from the gradient, or from a row-wise optimizer's state, and all are as
/// wide.
[[nodiscard]] std::vector<ModelledWork> embedding_forward(const OperatorLaunches& op);

/// `aten::_embedding_bag(weight, indices, offsets, ...)`: a call for each table, with shapes of its own.
[[nodiscard]] std::vector<ModelledWork> embedding_bag_forward(const OperatorLaunches& op);

/// Passes over the lookups, and one work for the rows; that is left out for optimizers that the models do
/// not have.
[[nodiscard]] std::vector<ModelledWork> embedding_backward(const OperatorLaunches& op);

}  // namespace lockstep::replay
