#pragma once

#include <string>

#include "topology/gemm_profile.hpp"

namespace lockstep {

/// How the convolution library (cuDNN) of one GPU model uses it in FP32 (ops/kernels/convolution.hpp has the
/// equations).
struct ConvolutionProfile {
  std::string source;
  bool calibrated = false;     ///< fitted on this GPU model: KernelEfficiency::provenance says
  GemmProfile implicit;        ///< convolutions as matrix products, filters larger than 1 x 1, forward
  double one_by_one = 1;       ///< of that rate: filters of 1 x 1
  double data_gradient = 1;    ///< likewise: gradient of the input
  double weight_gradient = 1;  ///< likewise: gradient of the filters
  double winograd = 0.7;       ///< of the SM's peak: Winograd's F(2 x 2, 3 x 3) in one kernel
  double products = 1;         ///< of batched products' rate: those of Winograd's F(4 x 4, 3 x 3)
  double transforms = 0.7;     ///< of the DRAM bandwidth: its transforms

  template <class Visitor>
  static void describe(Visitor& key, ConvolutionProfile& of) {
    key.required("source", of.source, "which measurements the figures were fitted to");
    key.required("implicit", of.implicit, "convolutions as matrix products, filters larger than 1 x 1");
    key.required("one_by_one", of.one_by_one, "of that rate: filters of 1 x 1, forward");
    key.required("data_gradient", of.data_gradient, "of that rate: gradient of the input");
    key.required("weight_gradient", of.weight_gradient, "of that rate: gradient of the filters");
    key.required("winograd", of.winograd, "of the SM's peak: Winograd's F(2 x 2, 3 x 3) in one kernel");
    key.required("products", of.products, "of batched products' rate: those of Winograd's F(4 x 4, 3 x 3)");
    key.required("transforms", of.transforms, "of the DRAM bandwidth: Winograd's transforms");
  }
  /// @throws FieldError for a fraction outside ]0, 1]
  void check() const;
};

}  // namespace lockstep
