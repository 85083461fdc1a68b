#pragma once

#include "ops/kernel.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {

/// Convolutions in TF32 by cuDNN, of a generation of tensor cores whose kernels were seen:
///
///   direct    tensors in NCHW, filters of one pixel on every pixel, images of a multiple of four: a batched
///             product of images as they lie, by cuBLAS' older kernels (`direct`); or by those of all
///             products
///             (`tensor`), where rows of an image are a multiple of `own_products_from`
///   implicit  all others: a product by tiles and waves (`implicit`, gemm.hpp) on channels last; the filters'
///             gradient shares k among all SMs:
///             t = max(2 m n k / (peak * efficiency * weight_gradient), bytes / DRAM) + 1.5 fixed,
///             m and n in
///             whole tiles; the gradient of a strided input multiplies all positions of a filter of more than
///             one unless it `skips_strides`
///   odd       tensors in NCHW whose channels are no multiple of four, a network's first: forward, and the
///             filters' gradient where `odd_weight_gradient` says so, on FP32's cores:
///             t = fixed + 2 outputs (k + 12) / (peak of FP32 * odd_channels), k = inputs * filter; 12 is
///             what two of them on H100 have in common, k = 27 at 17.5 and k = 147 at 23.7 TFLOPS
///   copies    of tensors in NCHW around an implicit product: input and output at the rate of streams, the
///             output by the product itself where it `writes_images`; and the filters (or their gradient),
///             which a block copies 32 channels at a time however few pixels they have:
///             t = minimum + max(bytes / streams, outputs * ceil(inputs / 32) * copied_filter)
///
/// *Assumes* one group. *Valid for* what was fitted: 14 to 224 pixels a side, 64 to 2,048 channels, 32 and
/// 512 images; the gradient of the input by strided kernels takes 1.1 to 1.6 times what is answered on A100.
/// *Source*: kernels, tiles and grids of ../shared/data/traces/single_rank/a100_rank0of2_nccl_arguments
/// (ResNet-50) and ../shared/data/traces/vgg13_h100; tools/derive/tf32_convolutions.py.
[[nodiscard]] Seconds time_of_tf32_convolution(const Convolution& of, const GpuSpec& gpu);

}  // namespace lockstep
