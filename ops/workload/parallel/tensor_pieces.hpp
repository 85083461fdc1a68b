#pragma once

#include <functional>

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// SMs of a copy between GPUs by the copy engines (Transformer Engine's userbuffers: pytorch/module/base.py,
/// get_default_config, num_sm).
inline constexpr int kSmsOfRingExchange = 1;

/// An all-gather of @p size over the tensor-parallel ranks in pieces under the product that reads it: this
/// rank's rows are multiplied first, each other rank's when they have come. Pieces add up to @p size.
/// @param multiply the rows of one rank
void gather_in_pieces(const LayerScope& scope, Bytes size, const std::function<void()>& multiply);

/// The same as PyTorch's symmetric memory has it (torch/distributed/_symmetric_memory/__init__.py,
/// _pipelined_multi_all_gather_and_consume): rows of others are copied from their memory once every rank has
/// multiplied its own. Two streams do so in turn; each multiplies what it has copied before it copies
/// on. So two pieces come before the first is multiplied, each other one under a product. This rank's rows
/// are copied to where the others' go.
void gather_by_two_streams(const LayerScope& scope, Bytes size, const std::function<void()>& multiply);

/// A reduce-scatter of what a product makes, in pieces: the rows that other ranks need are multiplied first
/// and summed while the product goes on.
/// @param sms that a piece's sum holds
void scatter_in_pieces(const LayerScope& scope, Bytes size, int sms, const std::function<void()>& multiply);

}  // namespace lockstep
