#pragma once

/// @file
/// The work between two phases whose models differ, in bytes.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/workload/parallelism_spec.hpp"
#include "ops/workload/workload.hpp"
#include "scenario/schedule_spec.hpp"

namespace lockstep {

/// Bytes that stay of a dense parameter from step to step.
struct ElementBytes {
  double weight = 4;
  double optimizer = 0;  ///< master weight and moments
};

/// Bytes as the training loops of the model families keep them: 4 B beside FP32 parameters for each moment; 2
/// + 12 B with master weights; FSDP's FP32 shares 4 + 8 B.
[[nodiscard]] ElementBytes element_bytes(const WorkloadSpec& workload, const ParallelismSpec& parallelism);

/// Parameters of two models that are not alike in both: tensors of equal size are the same one.
struct ChangedElements {
  double before = 0, after = 0;          ///< elements of those that differ
  double all_before = 0, all_after = 0;  ///< of all
};
[[nodiscard]] ChangedElements changed_elements(std::span<const std::int64_t> before,
                                               std::span<const std::int64_t> after);

/// One phase's model and how it is spread.
struct TransitionSide {
  const WorkloadSpec* workload = nullptr;
  const ParallelismSpec* parallelism = nullptr;
  int ranks = 1;
};

/// Rows that go from one rank to another because their table was placed anew.
struct MovedTable {
  std::size_t table = 0;
  std::int64_t from = 0, to = 0;  ///< ranks
  double bytes = 0;
};

/// Bytes of a rank's embedding tables whose rows or dimensions change.
struct TableWork {
  double scored = 0, gathered = 0, filled = 0;

  [[nodiscard]] double moved() const { return scored + 2 * gathered + filled; }
};

/// Bytes for one rank of a model that is cut evenly.
struct TransitionWork {
  double scored = 0;             ///< read, to choose what goes
  double structures = 0;         ///< that are chosen among
  double gathered = 0;           ///< kept rows and columns: read, and written as much
  double filled = 0;             ///< zeros, of what grows and of states that are reset
  double shared = 0;             ///< what ranks that share states all-gather: the whole buffer
  int share = 1;                 ///< ranks that do
  double broadcast = 0;          ///< new weights
  double written = 0, read = 0;  ///< all states, where there is a checkpoint
  /// Embedding tables, by rank; empty: none changes.
  std::vector<TableWork> tables;
  std::vector<MovedTable> moved;

  [[nodiscard]] bool is_nothing() const;
};

/// Bytes that a rank reads, writes and shares between two phases:
///
///   score      weights that differ, where they get fewer; with second_moment half of the optimizer's bytes
///   gather     what both models have of them: weight, and the optimizer's bytes unless reset
///   fill       what the new model has more; the optimizer's bytes where reset, and of parts trained again
///   share      zero3: states of what differs (a flat parameter a layer); zero1 and zero2: all optimizer
///              states, whose shares of the flat buffer begin elsewhere; all states where the plan differs
///   broadcast  weights of what differs, if agreement says so and no zero3 shares them
///
/// each over tensor x pipeline ranks, of experts over expert x expert_tensor x pipeline, and what ZeRO shares
/// over the ranks that share.
/// *Assumes* that layers are cut evenly among stages.
/// @param structures that are chosen among, of both phases' narrower groups
[[nodiscard]] TransitionWork transition_work(const TransitionSide& before, const TransitionSide& after,
                                             const TransitionSpec& spec, double structures);

}  // namespace lockstep
