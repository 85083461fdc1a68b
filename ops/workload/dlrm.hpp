#pragma once

#include <span>

#include "ops/job.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/embedding_plan_spec.hpp"
#include "ops/workload/table_shards.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// The ranks of the tables: the given plan, else the planner's choice, as table-wise entries.
/// @param gpu_memory by rank
/// @throws std::invalid_argument for a table that fits nowhere, or a rank that the planner leaves without one
[[nodiscard]] EmbeddingPlan embedding_plan(const DlrmSpec& spec, const EmbeddingPlanSpec& plan,
                                           std::span<const Bytes> gpu_memory);

/// The first rank that takes tables by the model's own rules: the bottom MLP's has none where there are more
/// than four. *Source*: NVIDIA/DeepLearningExamples, dlrm/utils/distributed.py (get_device_mapping).
[[nodiscard]] std::size_t first_table_rank(const DlrmSpec& spec, std::size_t ranks);

/// Whether tables may be cut or copied in any way that TorchRec has. What the first rank sends with its rows
/// (bottom_mlp_placement) travels in the all-to-all of whole tables; HugeCTR has ways of its own
/// (hugectr_tables()).
[[nodiscard]] bool takes_cut_tables(const DlrmSpec& spec);

/// Storage for tables in a step with @p optimizer; data-parallel ones are dense parameters.
[[nodiscard]] ShardStorage storage_of_shards(DlrmOptimizer optimizer);

/// The type of pooled rows, which the interaction takes: FP32, or that of the model's activations.
[[nodiscard]] DataType feature_type(const DlrmSpec& spec, Precision precision);

/// Bytes of one number of pooled rows, or of their gradients, on its way between ranks: only FP32 is encoded.
[[nodiscard]] Bytes travelling_element(const DlrmSpec& spec, Precision precision, CommunicationType type);

/// One training step as dlrm_s_pytorch.py executes it: inputs to the device; embeddings of the global batch
/// for local tables, exchanged when there are several ranks (EmbeddingExchange); MLPs and interaction on the
/// rank's share of the batch; loss and its read-back; backward on the autograd thread with gradient buckets;
/// step.
///
/// Several ranks follow extend_distributed.py: lookup and all-to-all before the bottom MLP, which overlaps
/// the exchange in both directions. With the bottom MLP on the first rank, that rank runs a program of its
/// own: it computes the MLP for all samples and sends them with its rows.
/// @throws std::invalid_argument for a batch that does not divide by the ranks, a table that fits nowhere,
///   fp8, a bottom MLP on the first rank beside tables that are not whole
/// @throws InputError at the entries of a plan that does not fit model, ranks or memory (shard_tables)
[[nodiscard]] Job dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup);

}  // namespace lockstep
