#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "ops/gpu/gemm_profile.hpp"

namespace lockstep {

/// How cuDNN computes convolutions of one type on one generation of tensor cores
/// (ops/kernels/tensor_convolution.hpp has the equations).
struct TensorConvolutionProfile {
  std::string source;
  bool calibrated = false;  ///< fitted on this GPU model: KernelEfficiency::provenance says
  /// Forward convolutions of tensors in channels last; none: products of this type.
  std::optional<GemmProfile> implicit;
  double data_gradient = 1;                     ///< of that rate: gradient of the input
  std::optional<double> strided_data_gradient;  ///< likewise of strided filters; none: `data_gradient`
  /// Share of that rate: gradient of the filters, whose products share k among all SMs; 0: they split k.
  double weight_gradient = 0;
  std::optional<GemmProfile> weight_products;  ///< that split k; none: as `implicit`
  bool writes_images = false;                  ///< forward, kernels write NCHW themselves
  /// Filters of one pixel as batched products of images in NCHW; none: products of this type, of channels
  /// last too.
  std::optional<GemmProfile> direct;
  /// Images of a multiple of so many pixels: products of this type instead of `direct`; 0: none.
  std::int64_t own_products_from = 0;
  /// Gradient of a strided input: without the filter's positions that meet nothing.
  bool skips_strides = true;
  /// Share of the FP32 peak: forward, images of channels that are no multiple of four; 0: as all others.
  double odd_channels = 0;
  double odd_weight_gradient = 0;  ///< likewise the filters' gradient
  bool pads_channels = false;  ///< such images are padded to whole vectors for tensor cores, in any layout
  Seconds copied_tile{0};      ///< into channels last: up to 32 channels of up to 32 pixels
  Seconds copied_pixel_filter{0};  ///< likewise of filters of one pixel; 0: they are not copied

  template <class Visitor>
  static void describe(Visitor& key, TensorConvolutionProfile& of) {
    key.required("source", of.source, "which measurements the figures were fitted to");
    key.optional("implicit", of.implicit, std::nullopt,
                 "convolutions of channels last as matrix products; ~: as 'tensor' or 'tf32'");
    key.required("data_gradient", of.data_gradient, "of that rate: gradient of the input");
    key.optional("strided_data_gradient", of.strided_data_gradient, std::nullopt,
                 "likewise of strided filters; ~: as 'data_gradient'");
    key.optional("weight_gradient", of.weight_gradient, 0,
                 "of that rate: gradient of the filters, shared among all SMs; 0: products split k");
    key.optional("weight_products", of.weight_products, std::nullopt,
                 "gradient of the filters as products that split k; ~: as 'implicit'");
    key.required("writes_images", of.writes_images, "whether forward kernels write NCHW themselves");
    key.optional("direct", of.direct, std::nullopt,
                 "filters of one pixel as batched products of images in NCHW; ~: by 'tensor' or 'tf32', and "
                 "of channels last too");
    key.optional("own_products_from", of.own_products_from, 0,
                 "images of a multiple of so many pixels, e.g. 8, are products by 'tensor'; 0: none are");
    key.required("skips_strides", of.skips_strides,
                 "whether the gradient of a strided input leaves out what meets no output");
    key.optional(
        "odd_channels", of.odd_channels, 0,
        "of the FP32 peak: forward, images of channels that are no multiple of four; 0: as all others");
    key.optional("odd_weight_gradient", of.odd_weight_gradient, 0,
                 "likewise the gradient of the filters; 0: as all others");
    key.optional("pads_channels", of.pads_channels, false,
                 "whether such images are padded to vectors of 16 bytes, for tensor cores");
    key.required("copied_tile", of.copied_tile, "copy of 32 channels of up to 32 pixels, e.g. 2.5 ns");
    key.required("copied_pixel_filter", of.copied_pixel_filter, "likewise of a filter of one pixel");
  }
  /// @throws FieldError for a fraction outside ]0, 1] (]0, 8] of the FP32 peak where channels are padded),
  /// the gradient of the filters told twice
  void check() const;
};

}  // namespace lockstep
