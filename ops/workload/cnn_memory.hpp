#pragma once

#include <span>

#include "ops/memory.hpp"
#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// Device memory of a rank that trains a convolutional network, when it holds most, on the way back
/// through its layers.
///
///   parameters, gradients   4 B an element each
///   activations             images; by convolution its output (batch norm reads it again) and, in place
///                           of ReLU's input, what batch norm leaves; by pool its output and, where it takes
///                           the largest, an index of 8 B; sums of residual blocks and concatenations of
///                           several branches; of the layers that backward has not passed yet
///   workspace               three times the output of the layer, or block, that backward has come to:
///                           gradients of an output and an input, and what cuDNN gathers (with 16 bits also
///                           the weights' copies: autocast's cache)
///   optimizer               what it keeps, 4 B an element each
///   communication           another copy of the gradients where there are several ranks: buckets
///
/// *Assumes*: parameters and gradients in FP32; ReLU in place; a bounded workspace of cuDNN (the largest of
/// the transforms is not followed). *Source*: what autograd keeps: PyTorch 2 tools/autograd/derivatives.yaml.
/// Frozen parts have parameters alone; blocks that backward does not come to keep no activations.
/// @param blocks for the rank's share of the batch
[[nodiscard]] MemoryBreakdown cnn_memory(const CnnSpec& spec, std::span<const ShapedBlock> blocks,
                                         const TrainingSetup& setup);

}  // namespace lockstep
