#pragma once

#include <cstdint>
#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Softmax, layer norm and batch norm, forward and backward: what passes over the matrix move. Reads `again`
/// are of rows that the block has read just before: from a cache as far as it still holds them.
///
///   softmax     forward 1 read, 2 again, 1 write; backward 2 reads, 1 again, 1 write
///               rows of up to 1024 elements (row_of_a_warp): none again, a warp holds them in registers
///               and goes through them an element a thread: at least time_to_issue(35 rows columns)
///               with a causal mask a row has columns / 2 + 1/2 elements to read and to go through, on the
///               mean; it is written whole
///   layer norm  forward 1 read, 1 again, 1 write; input gradient 2 reads, 2 again, 1 write;
///               parameter gradient 2 reads
///   batch norm  forward 2 reads, 1 write; backward 4 reads, 1 write; of tensors in NCHW (several images;
///               channels last they are one matrix: batch 1) a block for each channel, so that the bandwidth
///               is min(1, channels / SMs) of what it could be, which goes through an element a thread,
///               whatever its size, so that t is at least
///               elements / (clock * min(channels * by_block, SMs * by_sm)), clock = peak FP32 / (2 FP32
///               cores)
///   resident  = threads_per_sm / threads of a block   layer norm 128, softmax about columns / 8, at most 512
///   touched   = (reads + again + writes) / passes     of a row by a block between two reads of the same
///               bytes
///   missing(cache, blocks) = 1 - clamp(1.5 - touched * blocks * row / cache, 0, 1)
///   missing 1 = missing(L1, resident)                 softmax; layer norm 1
///   missing 2 = missing(L2 / copies, SMs * resident)  copies = 2 - 1 / l2_partitions
///   move      = time_to_move(reads + again * missing 1 * missing 2, writes) at
///               softmax | block_softmax | layer_norm | batch_norm of the streaming bandwidth
///   t         = kernel_minimum + max(move, layer norm whose call says how many instructions it issues:
///               time_to_issue(instructions rows columns))
///
/// PyTorch's own layer norm has a block of 128 threads for each row, and one for each 32 columns where it
/// sums the parameters' gradients, however few those are: beside what it moves it takes
///
///   clocks    = rows / SMs * (257 + 0.41 columns)     forward, 16 bits; FP32 310 + 0.55 columns
///               rows / SMs * (120 + 0.2 columns)      RMS norm, which has no mean; FP32 100 + 0.36 columns
///               rows / SMs * (110 + 0.39 columns)     gradient of the input
///               9 rows ceil(columns / 32 / SMs)       gradients of gain and bias (RMS norm: 6.5)
///   t         = kernel_minimum + (move^p + (clocks / clock)^p)^(1 / p)   p = 3 for the input's gradient,
///   else 2
///
/// A block of softmax with a row of its own waits: for the sum of the block at the end of a pass (0.61 us;
/// forward two, backward one), and in each iteration over a row that it reads again, one after the other, for
/// the cache that has it: 0.46 us for level 1, for level 2 1.42 times as long as a vector of 16 bytes for
/// each thread that runs takes there, however few bytes it asks for, and no less than level 1. What comes
/// from memory is in `move`. An iteration is up to the first vector, a vector a thread, or an element a
/// thread where fewer are left.
///
///   level 2   = max(0.46 us, 1.42 min(rows * threads, SMs threads_per_sm) 16 B / L2 bandwidth)
///   wait      = rows / (SMs * resident) * (0.61 us sums + again iterations
///                                          (0.46 us (1 - missing 1) + level 2 missing 1 (1 - missing 2)))
///   t         = kernel_minimum + (move^1.4 + wait^1.4)^(1 / 1.4)
///
/// A kernel that torch.compile fused (FusedPasses) says itself what it reads, writes and reads again; with
/// rows of up to 1024 elements it goes through them once (a persistent reduction of Inductor, triton_per),
/// else in as many passes as above (triton_red). *Source*: PyTorch torch/_inductor (codegen/triton.py) and
/// what it wrote for GPT-2 and BERT (github.com/thuml/learn_torch.compile); that Triton's kernels move bytes
/// as fast as PyTorch's is assumed.
///
/// *Assumes* that layer norm's cached reads cost nothing beside those from memory, that a block's passes take
/// equally long and that a row lies in each part of the level-2 cache as often as in the others.
/// *Valid for* rows of up to 64 Ki elements.
/// *Source*: PyTorch aten/src/ATen/native/cuda/{SoftMax,layer_norm_kernel}.cu (passes, blocks, tails). That
/// rows are read again from memory shows in NeuSight's tables (long rows: layer norm at 2/3 of streaming,
/// softmax at 1/2). Clocks of layer norm: read off 16 and 32 bits, 512 to 65,536 rows of 512 to
/// 12,288 elements on an H100 and an H200, PyTorch 2.11
/// (calibration/measurements/*/pytorch_normalisation.csv); A100's 244e9 elements/s in 16
/// bits (vidur_mlp, phi-2: 2048 and 4096 x 2560; an earlier PyTorch) come out 10 to 13 % too fast. 0.61 and
/// 0.46 us, 1.42 and 1.4 are fitted to its softmax of 1,025 elements and more, train part, P100, V100 and
/// A100 40 GB (tools/derive/softmax_waits.py). 35: forward of 2^30 elements of 16 bits in rows of 1,024 takes
/// an H20 (78 SMs) 2.90 and 2.98 ms (github.com/flagos-ai/FlagGems pull requests 5578 and 3575), where memory
/// needs 1.2; that backward, which reads two tensors and has no exponential, issues as many is assumed. What
/// a causal mask leaves: scaled_upper_triang_masked_softmax_warp_{forward,backward} of Megatron-LM
/// (megatron/fused_kernels/scaled_upper_triang_masked_softmax.h, an extension of PyTorch's kernel for a
/// warp), where 35 are assumed, too, and none for what is masked. Batch norm: cuDNN's bn_fw_tr_1C11 and
/// bn_bw_1C11 in
/// ../shared/data/traces/resnet50_v100_loader_in_process (sizes and times). by_block 0.73 forward and 0.36
/// backward, by_sm 0.91 and 0.53 elements a clock: ResNet-50 in NCHW and FP32 on A100 40 GB
/// (../shared/data/traces/single_rank/a100_rank0of2_nccl_arguments; 64 channels: 1.04 and 0.50 elements/ns a
/// block; tensors that fit the level-2 cache, 128 channels of 28 x 28 and 256 to 1,024 of 14 x 14 pixels: 138
/// and 77 to 80 elements/ns of 108 SMs). In FP16 the kernels are the same with another type. PyTorch's own of
/// BF16: by_block 0.55 and 0.27, by_sm 1.35 and 0.63: 64 to 2,048 channels of 7 to 112 pixels a side on an
/// H100 and an H200 (calibration/measurements/*/pytorch_images.csv), where cuDNN's of channels last
/// (batchnorm_fwtr_nhwc_semiPersist) keep all SMs busy with 64 channels, too.
class NormalisationModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
