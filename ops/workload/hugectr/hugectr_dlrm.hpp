#pragma once

#include <vector>

#include "ops/job.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/table_shards.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// One training step of HugeCTR with an embedding collection, as NVIDIA submits it to MLPerf Training. All of
/// it is one CUDA graph (use_cuda_graph), its streams those of train_intra_iteration_overlap and
/// train_inter_iteration_overlap; what comes before the colon runs on that stream:
///
///   mp       keys of this batch kept, lookup: then exchange; behind the top MLP's backward: exchange of
///            gradients; behind the sort: update
///   dp       behind the lookup: that of replicated tables, sorts; behind the top MLP's backward: their
///            gradients; behind the all-reduce: their update
///   compute  weights cast; behind the lookup: bottom MLP; behind both exchanges: concatenation, cross
///            layers, top MLP, loss, backward; all-reduce of all gradients (grouped_all_reduce); update
///   prefetch behind the keys that are kept: the next batch's
///
/// With fp16 features, activations, gradients and what travels are in 16 bits, tables and the weights that
/// are updated in FP32; the loss scale is constant.
///
/// *Assumes* that the reader keeps up (asynchronous, labels, dense features and keys copied beside the step),
/// weight gradients on the stream of the other products (async_wgrad has one of their own, for which the GPU
/// has no room beside them). *Source*: NVIDIA-Merlin/HugeCTR, HugeCTR/src/pybind/model_pipeline.cpp
/// (2f28608), train.py of NVIDIA/benchmarks/dlrm_dcnv2 in mlcommons/training_results_v5.0.
/// @throws std::invalid_argument for what HugeCTR does not have (checks of hugectr_tables too)
[[nodiscard]] Job hugectr_dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup,
                                   const std::vector<ShardGroup>& groups);

}  // namespace lockstep
