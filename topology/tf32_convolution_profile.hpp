#pragma once

#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "topology/gemm_profile.hpp"

namespace lockstep {

/// How cuDNN computes TF32 convolutions of one generation of tensor cores (ops/kernels/convolution.hpp has
/// the equations).
struct Tf32ConvolutionProfile {
  std::string source;
  bool calibrated = false;     ///< fitted on this GPU model: KernelEfficiency::provenance says
  GemmProfile implicit;        ///< of tensors in channels last, forward
  double data_gradient = 1;    ///< of that rate: gradient of the input
  double weight_gradient = 1;  ///< likewise: gradient of the filters, whose products share k among all SMs
  bool writes_images = false;  ///< forward, kernels write NCHW themselves
  GemmProfile direct;          ///< batched products of images in NCHW, filters of one pixel
  std::int64_t own_products_from = 0;  ///< images of a multiple of so many pixels: `tensor` instead; 0: none
  bool skips_strides =
      true;                 ///< gradient of a strided input: without the filter's positions that meet nothing
  double odd_channels = 1;  ///< of the FP32 peak: forward, images of channels that are no multiple of four
  double odd_weight_gradient = 0;  ///< likewise the filters' gradient; 0: on tensor cores
  Seconds copied_filter{0};        ///< into channels last: each filter's 32 channels, however few pixels
  Seconds copied_pixel_filter{0};  ///< likewise of filters of one pixel

  template <class Visitor>
  static void describe(Visitor& key, Tf32ConvolutionProfile& of) {
    key.required("source", of.source, "which measurements the figures were fitted to");
    key.required("implicit", of.implicit, "convolutions of channels last as matrix products");
    key.required("data_gradient", of.data_gradient, "of that rate: gradient of the input");
    key.required("weight_gradient", of.weight_gradient, "of that rate: gradient of the filters");
    key.required("writes_images", of.writes_images, "whether forward kernels write NCHW themselves");
    key.required("direct", of.direct, "filters of one pixel as batched products of images in NCHW");
    key.optional("own_products_from", of.own_products_from, 0,
                 "images of a multiple of so many pixels, e.g. 8, are products by 'tensor'; 0: none are");
    key.required("skips_strides", of.skips_strides,
                 "whether the gradient of a strided input leaves out what meets no output");
    key.required("odd_channels", of.odd_channels,
                 "of the FP32 peak: forward, images of channels that are no multiple of four");
    key.optional("odd_weight_gradient", of.odd_weight_gradient, 0,
                 "likewise the gradient of the filters; 0: on tensor cores");
    key.required("copied_filter", of.copied_filter, "copy of 32 channels of a filter, e.g. 2.5 ns");
    key.required("copied_pixel_filter", of.copied_pixel_filter, "likewise of a filter of one pixel");
  }
  /// @throws FieldError for a fraction outside ]0, 1]
  void check() const;
};

}  // namespace lockstep
