#pragma once

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Convolutions in FP32 by cuDNN 9 (9.19), the shortest of what it has for a pass:
///
///   implicit   (sm80_xmma_{f,d}prop_implicit_gemm_f32f32_..., ..._wgrad_...) a matrix product by tiles and
///              waves (gemm.hpp): `forward`, with a stride and filters larger than 1 x 1 at `strided` of its
///              rate; `data_gradient`, stride 1 alone; `weight_gradient`, without a split of k, between
///              copies into channels last
///   scattered  (dgrad_engine) input's gradient: for each image the product of filters and outputs' gradient,
///              m = inputs * filter, n = output pixels, k = outputs, is added to where it belongs, so that
///              nothing is multiplied in vain where there is a stride; the gradient is scaled before, by 0
///              (scalePackedTensor_kernel)
///   summed     (wgrad_alg0_engine, wgrad_alg1_engine) filters' gradient, parts of images added atomically:
///              t = fixed + 2 m n k / (peak * summed), m and n in whole tiles of 32; at `summed_pixels` of
///              filters of one pixel
///   Winograd   filters' gradient of 3 x 3, stride 1: as convolution.hpp's
///   spectral   (fft2d_r2c, ..._gemm_cf32cf32_..., fft2d_c2r) filters of 3 x 3 and stride 1, forward and
///              input's gradient: Fourier transforms of images in tiles of S x S pixels, forward 16 where
///              whole images with their borders fit and else 32, S (S / 2 + 1) products of complex numbers:
///              t = fixed + 8 S (S / 2 + 1) tiles (inputs + fixed_depth) outputs / (peak * spectral),
///                outputs in whole 32,
///                + (tensors + 8 S (S / 2 + 1) (tiles (inputs + outputs) + inputs outputs))
///                  / (DRAM * transforms) [tiled_transforms where images are cut into tiles]
///                + forward 0.6 ns for each pair of channels, whose filter is turned by a block (flip_filter)
///
/// Fused Winograd was not seen, nor transforms of larger filters where they would have been sooner done.
///
/// *Assumes* that cuDNN guesses well and that timing gains nothing: not so of 9 of 174 passes seen, which
/// took 1.5 to 4 times as long as another kernel would have (a transform of 1 x 1 filters). One group.
/// Tensors in channels last are copied around all (convolution.hpp). *Valid for* what was seen: 7 to 149
/// pixels a side, 32 to 2,048 channels, 64 images. *Source*: kernels and grids of each convolution of
/// ResNet-50 and Inception v3 on an H100 (calibration/measurements/h100/fp32_convolutions.csv),
/// tools/derive/hopper_fp32_convolutions.py.
/// @throws std::invalid_argument when the GPU has no unit for FP32
[[nodiscard]] Seconds time_of_core_convolution(const Convolution& of, const CoreConvolutionProfile& profile,
                                               const GpuSpec& gpu);

}  // namespace lockstep
