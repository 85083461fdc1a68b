#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Fused attention (FlashAttention-2 and 3, FlashAttention 1 in Triton, cuDNN's, and memory-efficient
/// attention).
///
///   flops(forward)  = 4 batch heads whole(queries) head_size (columns(keys) + once)
///   flops(backward) = 4 batch heads whole(keys) head_size (columns(queries) + once) x 2.5 (five products)
///   whole(n) = rows of a tile * ceil(n / rows of a tile): what is past the end is masked, not left out
///   columns(n) = n', with a mask n' / 2 + 64 (tiles of 64 rows: 32): blocks on the diagonal are whole
///   n' = 64 ceil(n / 64), heads up to 64 wide (but of 3xTF32): 128 ceil(n / 128)
///   t = kernel_minimum + max(flops / (peak * attention * r * h * m * busy), bytes of Q, K, V, O / streaming
///   bandwidth)
///   main_alone: backward less what its other two kernels take, which the caller launches: row sums of
///     dO * O, two reads; dQ from FP32, two reads and a write
///   busy = tiles / (ceil(tiles / SMs) * SMs),  tiles = batch heads ceil(rows / 128), or by the rows of
///          `cudnn_attention`, 3xTF32 forward by 64; with a mask tiles differ in length, and it is what the
///          mean SM does of what the fullest one does (ragged_share()), but where long tiles come first (3;
///          cuDNN on Blackwell)
///   peak : of the call's type; memory-efficient in FP32, where the GPU has TF32, a third of TF32's (3xTF32)
///   h    = 1 / (1 - e + e * 128 / min(head_size, 128)): narrow heads have as many exponentials
///
///   version           r forward, backward      once      e              m (with a mask)
///   2                 1          0.88          80, 235   0.142          0.93
///   3                 1.88       1.585         265, 413  0.384, 0.18    0.955
///   cuDNN             1.66       1.45          120, 355  0.456, 0.181   0.94
///   1                 1 / 1.4   0.88 / 2      as 2
///   memory-efficient  0.483     0.372         63, 18    0.351, 0.307   1
///     3xTF32          0.745     0.592         64, 0     0.325, 0.066   1
///
///   dropped scores: t += time_to_issue(batch heads rows columns * d) / busy with a mask     a random number
///   each d forward, backward   2: 6.2, 10.3   cuDNN: 19.3, 10.7   memory-efficient: 42, 63; 3xTF32: 50, 62
///
/// `once` is columns in whose time a tile loads, divides and writes, backward also the kernels before and
/// behind. The constants of 2, 3 and cuDNN are fitted to 36 rates each of H100 (arXiv 2407.08608, figures 5
/// and 6), which 2 meets within 7 % from 1,024 tokens on (16 % at 512 with a mask), cuDNN 9.1 within 6 % and
/// 3 within 10 %; `attention` alone differs by GPU. Where FlashAttention-2 reaches 0.73 of the peak and more
/// (A100), cuDNN's and 3 are as fast as it: what they gain on H100 is by wgmma and TMA.
///
/// Where a GPU's set has `cudnn_attention` (Blackwell; Hopper with cuDNN 9.19, whose kernels are 5 to 25 %
/// faster than 9.1's at heads of 128), cuDNN's rates, `once`, e, m and rows of a tile are its own, not in
/// proportion to FlashAttention-2, whose mma instructions do there what they do on Hopper. With tcgen05 a
/// block has two tiles of 128 queries, so that tiles have 256 rows. FlashAttention-4 is as fast
/// (docs/validation/blackwell.md); 3 has kernels for Hopper alone and is outside the range elsewhere.
///
/// Version 1 does what is no matrix product more often (the result is rescaled in every block of keys and the
/// mask applied in every block, at a sixteenth of the tensor cores' rate; section 3.1), splits keys among
/// warps that then meet in shared memory (3.3), and adds up the queries' gradients with atomics. Both run a
/// tile a thread block: the Triton kernels put 128 queries (backward: 128 keys) of a head on an SM, unlike
/// the CUDA kernels of version 1, which put a whole head there.
/// Memory-efficient attention (xFormers in CUTLASS) in FP32 takes three products of TF32 in place of one on
/// GPUs of compute capability 8.0 and later (DefaultGemmType of mem_eff_attention/gemm_kernel_utils.h in
/// PyTorch), whether or not single TF32 products are allowed. Its constants and what dropout costs are
/// measured on an H100 and an H200 with PyTorch 2.11 and cuDNN 9.19
/// (calibration/measurements/*/pytorch_attention.csv); its ratio to FlashAttention-2 on A100, twice in
/// arXiv 2307.08691, agrees in 16 bits. *Assumes* that a partial wave of tiles leaves SMs idle (keys are not
/// split among SMs where tiles are few, as flash decoding does for single queries); that version
/// 1's ratios on A100 and memory-efficient attention's on H100 hold elsewhere. *Valid for* head sizes 32-256,
/// version 1 and 3 and cuDNN: 32-128. *Source*: Shah et al., arXiv 2407.08608; Dao, arXiv 2307.08691
/// (sections 3 and 4.1); version 1: Dao et al., arXiv 2205.14135, and flash_attn_triton.py of
/// Dao-AILab/flash-attention v1.
class FlashAttentionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
