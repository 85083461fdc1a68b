#pragma once

#include <string>

#include "ops/gpu/gemm_profile.hpp"

namespace lockstep {

/// Parts of the rate of ConvolutionProfile::implicit, where the algorithm was chosen in one way.
struct ConvolutionRates {
  double one_by_one = 1;       ///< filters of 1 x 1, forward
  double data_gradient = 1;    ///< gradient of the input
  double weight_gradient = 1;  ///< gradient of the filters

  template <class Visitor>
  static void describe(Visitor& key, ConvolutionRates& of) {
    key.required("one_by_one", of.one_by_one, "of `implicit`'s rate: filters of 1 x 1, forward");
    key.required("data_gradient", of.data_gradient, "of that rate: gradient of the input");
    key.required("weight_gradient", of.weight_gradient, "of that rate: gradient of the filters");
  }
  /// @throws FieldError for a fraction outside ]0, 1]
  void check() const;
};

/// How the convolution library (cuDNN) of one GPU model uses it in FP32 (ops/kernels/convolution.hpp has the
/// equations).
struct ConvolutionProfile {
  std::string source;
  bool calibrated = false;   ///< fitted on this GPU model: KernelEfficiency::provenance says
  GemmProfile implicit;      ///< convolutions as matrix products, filters larger than 1 x 1, forward
  ConvolutionRates guessed;  ///< the library chose an algorithm by its heuristics
  ConvolutionRates tuned;    ///< it timed them
  double winograd = 0.7;     ///< of the SM's peak: Winograd's F(2 x 2, 3 x 3) in one kernel
  double products = 1;       ///< of batched products' rate: those of Winograd's F(4 x 4, 3 x 3)
  double transforms = 0.7;   ///< of the DRAM bandwidth: its transforms

  template <class Visitor>
  static void describe(Visitor& key, ConvolutionProfile& of) {
    key.required("source", of.source, "which measurements the figures were fitted to");
    key.required("implicit", of.implicit, "convolutions as matrix products, filters larger than 1 x 1");
    key.required("guessed", of.guessed, "where the library chooses an algorithm by its heuristics");
    key.required("tuned", of.tuned, "where it times its algorithms (torch.backends.cudnn.benchmark)");
    key.required("winograd", of.winograd, "of the SM's peak: Winograd's F(2 x 2, 3 x 3) in one kernel");
    key.required("products", of.products, "of batched products' rate: those of Winograd's F(4 x 4, 3 x 3)");
    key.required("transforms", of.transforms, "of the DRAM bandwidth: Winograd's transforms");
  }
  /// @throws FieldError for a fraction outside ]0, 1]
  void check() const;
};

}  // namespace lockstep
