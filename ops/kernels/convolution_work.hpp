#pragma once

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"
#include "ops/kernels/gemm.hpp"

namespace lockstep {

/// Elements of a convolution's tensors.
[[nodiscard]] double inputs_of(const Convolution& of);
[[nodiscard]] double outputs_of(const Convolution& of);
[[nodiscard]] double filters_of(const Convolution& of);

/// The matrix product that a pass is (convolution.hpp). @p skips_strides: of the gradient of a strided input,
/// each pixel meets 1 / stride^2 of the filter's positions, else all of a larger filter's than 1 x 1
[[nodiscard]] Gemm product_of(const Convolution& of, bool skips_strides = true);

/// The time of that product, on tensors of @p type that are each moved once. On tensor cores, in channels
/// last, it leaves out input pixels that no position of a strided filter meets. @p rate: of the tiles'
[[nodiscard]] Seconds implicit_time(const Convolution& of, GemmProfile profile, double rate,
                                    const GpuSpec& gpu, DataType type, bool skips_strides = true);

/// Whether filters are of one pixel, on every pixel.
[[nodiscard]] bool is_product_of_pixels(const Convolution& of);

/// Whether a pass on tensors in NCHW is a batched product of images as they lie: filters of one pixel on
/// every pixel, images of a multiple of four.
[[nodiscard]] bool is_batched_product(const Convolution& of);

/// The time of that product. Filters' gradients of the images are left in FP32 and summed by a second kernel
/// (reduce_wgrad_nchw_helper<float, ...>).
[[nodiscard]] Seconds batched_product_time(const Convolution& of, const GemmProfile& profile,
                                           const GpuSpec& gpu, DataType type);

}  // namespace lockstep
