#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Softmax, layer norm and batch norm, forward and backward: what passes over the matrix move. Reads `again`
/// are of rows that the block has read just before: from the level-2 cache as far as it still holds them.
///
///   softmax     forward 1 read, 2 again, 1 write; backward 2 reads, 2 again, 1 write
///               rows of up to 1024 elements: none again, a warp holds them in registers
///   layer norm  forward 1 read, 1 again, 1 write; input gradient 2 reads, 2 again, 1 write;
///               parameter gradient 2 reads
///   batch norm  forward 2 reads, 1 write; backward 4 reads, 1 write; a block for each channel, so that
///               the bandwidth is min(1, channels / SMs) of what it could be
///   in_flight = SMs * 2048 / threads of a block      layer norm 128, softmax about columns / 8, at most 512
///   missing   = 1 - clamp(1.5 - 1.5 * in_flight * row / L2, 0, 1)
///   move      = time_to_move(reads + again * missing, writes) at softmax | layer_norm | batch_norm of the
///               streaming bandwidth
///   t         = kernel_minimum + max(move, layer norm: 80 rows columns / FP32 peak)
///
/// *Assumes* that cached reads cost nothing beside those from memory. *Valid for* rows of up to 64 Ki
/// elements.
/// *Source*: PyTorch aten/src/ATen/native/cuda/{SoftMax,layer_norm_kernel}.cu (passes, blocks). That rows are
/// read again from memory shows in NeuSight's tables (long rows: layer norm at 2/3 of streaming, softmax at
/// 1/2); 1.5, what else is in the cache, is fitted to them. 80: layer norm of 16 bits on A100 (vidur_mlp,
/// phi-2: 2048 and 4096 x 2560). Batch norm: cuDNN's bn_fw_tr_1C11 and bn_bw_1C11
/// in ../shared/data/traces/resnet50_v100_loader_in_process (sizes and times).
class NormalisationModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
