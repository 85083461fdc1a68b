#pragma once

#include <string>

#include "ops/gpu/gemm_profile.hpp"

namespace lockstep {

/// How cuDNN computes FP32 convolutions on CUDA cores of one GPU model, where its kernels were seen one by
/// one (ops/kernels/core_convolution.hpp has the equations).
struct CoreConvolutionProfile {
  std::string source;
  bool calibrated = false;        ///< fitted on this GPU model: KernelEfficiency::provenance says
  GemmProfile forward;            ///< implicit products of NCHW
  double strided = 1;             ///< of their rate: larger filters with a stride
  GemmProfile data_gradient;      ///< the same of the input's gradient
  GemmProfile scattered;          ///< products of filters and outputs, added to the input's gradient
  GemmProfile weight_gradient;    ///< implicit products of channels last, copied from NCHW
  double summed_pixels = 0.2;     ///< of the FP32 peak: filters of one pixel, gradients added up by parts
  double summed = 0.3;            ///< the same of larger ones
  double spectral = 0.8;          ///< of the FP32 peak: products of Fourier transforms
  double transforms = 0.5;        ///< of the DRAM bandwidth: transforms of whole images
  double tiled_transforms = 0.3;  ///< the same of images in tiles

  template <class Visitor>
  static void describe(Visitor& key, CoreConvolutionProfile& of) {
    key.required("source", of.source, "which measurements the figures were fitted to");
    key.required("forward", of.forward, "implicit products of NCHW");
    key.required("strided", of.strided, "of their rate: filters larger than 1 x 1 with a stride");
    key.required("data_gradient", of.data_gradient, "implicit products of the input's gradient");
    key.required("scattered", of.scattered,
                 "products of filters and outputs' gradients that are added to the input's");
    key.required("weight_gradient", of.weight_gradient,
                 "implicit products of channels last of the filters' gradient");
    key.required("summed_pixels", of.summed_pixels,
                 "of the FP32 peak: gradients of 1 x 1 filters that are added up by parts of the images");
    key.required("summed", of.summed, "of the FP32 peak: the same of larger filters");
    key.required("spectral", of.spectral, "of the FP32 peak: products of Fourier transforms");
    key.required("transforms", of.transforms, "of the DRAM bandwidth: transforms of whole images");
    key.required("tiled_transforms", of.tiled_transforms,
                 "of the DRAM bandwidth: transforms of images in tiles");
  }
  /// @throws FieldError for a fraction outside ]0, 1]
  void check() const;
};

}  // namespace lockstep
