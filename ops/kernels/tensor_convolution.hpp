#pragma once

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Convolutions on tensor cores by cuDNN:
///
///   direct    filters of one pixel on every pixel: products by cuBLAS. Tensors in NCHW: a batched product of
///             images as they lie, where an image is a multiple of four pixels, and for the filters' gradient
///             in 16 bits of eight; by older kernels (`direct`) or by those of all products of the type
///             (`tensor`, `tf32`), where there are none or an image's rows are a multiple of
///             `own_products_from`. Channels last: one product, without `direct` only
///   implicit  all others: a product by tiles and waves (`implicit`, gemm.hpp; none: those of the type) on
///             channels last; the filters' gradient splits k (`weight_products`), or shares it among all SMs:
///             t = max(2 m n k / (peak * efficiency * weight_gradient), bytes / DRAM) + 1.5 fixed,
///             m and n in whole tiles; the gradient of a strided input multiplies all positions of a filter
///             of more than one unless it `skips_strides`
///   odd       images of channels that are no multiple of four, a network's first layer: forward, and the
///             filters' gradient where `odd_weight_gradient` says so:
///             t = fixed + 2 outputs (k + 12) / (peak of FP32 * odd_channels), k = inputs * filter; 12 is
///             what two of them on H100 have in common, k = 27 at 17.5 and k = 147 at 23.7 TFLOPS. On FP32's
///             cores, tensors in NCHW alone; or, where channels are padded (`pads_channels`), on tensor
///             cores, whose kernels gather a vector of 16 bytes for each position of the filter whatever the
///             type (387 us in BF16, 366 in TF32): the padded tensor is filled and copied before
///   copies    of tensors in NCHW around an implicit or padded product: input and output, the output by the
///             product itself where it `writes_images`; and the filters (or their gradient). A block copies
///             a tile of up to 32 channels of up to 32 pixels, as long whatever their number and type, and
///             1.26 times as long back:
///             t = minimum + max(bytes / streams, images * ceil(channels / 32) * ceil(pixels / 32) * tile)
///
/// *Assumes* one group. *Valid for* what was fitted: 14 to 224 pixels a side, 64 to 2,048 channels, 32 to
/// 512 images; the gradient of the input by strided kernels takes 1.1 to 1.6 times what is answered on A100.
/// *Source*: kernels, tiles and grids of ../shared/data/traces/single_rank/a100_rank0of2_nccl_arguments
/// (ResNet-50) and ../shared/data/traces/vgg13_h100, tools/derive/tf32_convolutions.py; the kernels of each
/// convolution of calibration/measurements/*/pytorch_images.csv, tools/derive/hopper_convolutions.py.
[[nodiscard]] Seconds time_of_tensor_convolution(const Convolution& of,
                                                 const TensorConvolutionProfile& profile, const GpuSpec& gpu,
                                                 DataType type);

/// The `copies` of this: of input and output, and of filters or their gradient, in the other layout around a
/// product.
[[nodiscard]] Seconds time_of_layout_copies(const Convolution& of, const TensorConvolutionProfile& profile,
                                            const GpuSpec& gpu, DataType type);

}  // namespace lockstep
