#pragma once

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Two-dimensional convolutions (cuDNN): the shortest of
///
///   implicit  a matrix product that gathers its operands, by tiles and waves as in gemm.hpp (`implicit`):
///             forward           m = images * output pixels, n = outputs, k = inputs * filter
///             input's gradient  m = images * input pixels, n = inputs, k = outputs * filter / stride^2
///             filters' gradient m = inputs * filter, n = outputs (or m and n exchanged),
///                               k = images * output pixels, split
///             rate by `one_by_one`, `data_gradient`, `weight_gradient`, `tuned` or `guessed`; memory: each
///             tensor once
///   fused     Winograd's F(2 x 2, 3 x 3), 16 products for 4 outputs of 9 each; forward and input's
///             gradient. A block computes 32 tiles of 2 x 2 outputs and 32 channels, k channels deep:
///             t = fixed + ceil(blocks / SMs) * 2 * 16 * 32 * 32 * (k + fixed_depth)
///                         / (peak / SMs * winograd)
///   unfused   Winograd's F(4 x 4, 3 x 3): 36 products of all tiles of 4 x 4 outputs, of images in whole
///             groups of 16, as one batched product
///             (`products` of fp32_batched's rate, operands at `transforms`) between transforms in memory:
///             t = 3 fixed + product + (tensors + 36 tiles (inputs + outputs) + 45 inputs outputs)
///                 / (DRAM bandwidth * transforms)
///
/// The library guesses an algorithm by its heuristics or, told so, times all it has (`tuned`). Guessed ones
/// of 1 x 1 and gradients are slower kernels in most layers (implicit_convolve_sgemm, dgrad_engine,
/// wgrad_alg0_engine); where it times them they are those of larger filters (volta_scudnn_*), but for the
/// input's gradient of a convolution with a stride, which no such kernel was seen to compute. Nothing is
/// known of what timing gains on tensor cores.
///
/// These read NCHW: tensors in channels last are copied into it and back around each, as nchwToNhwcKernel
/// does it for tensor cores. *Assumed* of all FP32 kernels: ResNet-50, 128 images on a V100, takes 70 ms more
/// in channels last (torchvision in PyTorch of 2021, 342 and 413 ms), the copies 78 ms.
///
/// Winograd needs filters of 3 x 3 and stride 1. FP32 by cuDNN 9 where its kernels were seen:
/// core_convolution.hpp. Types on tensor cores:
/// tensor_convolution.hpp; in TF32 on GPUs whose kernels were not seen, images of channels that are no
/// multiple of four (the first layer's three) go forward on FP32's cores.
///
/// *Assumes* that the library picks the best of the three, as its heuristics aim to; one group.
/// *Valid for* sizes >= 1; checked in FP32 for filters of 1 x 1, 3 x 3, 7 x 7 and 1 to 64 images
/// (docs/models.md).
/// *Source*: Chetlur et al., arXiv 1410.0759 (implicit products); Lavin and Gray, arXiv 1509.09308
/// (Winograd); shapes of blocks from the kernel names and grids of NeuSight's convolutions. NCHW: the kernels
/// of each convolution in ../shared/data/traces/single_rank/a100_rank0of2_nccl_arguments (ResNet-50, TF32,
/// A100): 28 of 53 forward are batched products (all of 1 x 1 and stride 1 but those of 7 x 7 pixels), copies
/// of 51 to 103 MB move 1.32 to 1.38 of 1.56 TB/s, the first layer is
/// ampere_scudnn_128x64_relu_xregs_large_nn_v1.
class ConvolutionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;

  /// @throws std::invalid_argument when the GPU has no unit for the type, a size is below 1 or the filter is
  /// larger than the padded input
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
