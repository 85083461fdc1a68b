#pragma once

#include <array>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Number formats that a training run computes in. With fp16 and bf16, MixedPrecision says what else is in 16
/// bits. FP8 is Transformer Engine's: BF16, and FP8 in the linear layers of transformer blocks
/// (ops/workload/parallel/fp8.hpp).
enum class Precision : std::uint8_t { FP32, TF32, FP16, BF16, FP8 };

constexpr auto names_of(Precision) {
  return std::to_array<EnumName<Precision>>({{Precision::FP32, "fp32"},
                                             {Precision::TF32, "tf32"},
                                             {Precision::FP16, "fp16"},
                                             {Precision::BF16, "bf16"},
                                             {Precision::FP8, "fp8"}});
}

[[nodiscard]] constexpr bool is_mixed(Precision precision) {
  return precision == Precision::FP16 || precision == Precision::BF16 || precision == Precision::FP8;
}

/// The type of matrix products; with FP8 of those that stay in 16 bits.
[[nodiscard]] constexpr DataType product_type(Precision precision) {
  switch (precision) {
    case Precision::FP32:
      return DataType::FP32;
    case Precision::TF32:
      return DataType::TF32;
    case Precision::FP16:
      return DataType::FP16;
    case Precision::BF16:
    case Precision::FP8:
      return DataType::BF16;
  }
  return DataType::FP32;
}

/// The type in which a matrix product leaves its result in memory.
[[nodiscard]] constexpr DataType storage_type(Precision precision) {
  return precision == Precision::TF32 ? DataType::FP32 : product_type(precision);
}

/// Parts of a model that are in 16 bits when its products are.
enum class MixedPrecision : std::uint8_t {
  Autocast,       ///< torch.autocast: FP32 parameters, gradients and residual stream; casts before products
  MasterWeights,  ///< all but the optimizer's copy of the parameters and its moments (Apex O2, DeepSpeed)
  Pure,           ///< all: model.to(torch.bfloat16)
};

constexpr auto names_of(MixedPrecision) {
  return std::to_array<EnumName<MixedPrecision>>({{MixedPrecision::Autocast, "autocast"},
                                                  {MixedPrecision::MasterWeights, "master_weights"},
                                                  {MixedPrecision::Pure, "pure"}});
}

/// Types of the parts of a model that is written as PyTorch runs it.
struct TensorTypes {
  // NOLINTNEXTLINE(google-explicit-constructor): a precision alone says it all, but for 16 bits
  TensorTypes(Precision products, MixedPrecision other = MixedPrecision::Autocast)
      : precision{products}, mixed{other} {}

  Precision precision;
  MixedPrecision mixed;

  /// Weights and what comes from the residual stream are cast before products, and gradients behind them.
  [[nodiscard]] bool casts() const { return is_mixed(precision) && mixed == MixedPrecision::Autocast; }
  /// Parameters and their gradients, the residual stream, normalisation, softmax.
  [[nodiscard]] DataType model() const { return casts() ? DataType::FP32 : storage_type(precision); }
  /// The optimizer's moments and the parameters that it updates.
  [[nodiscard]] DataType optimizer() const {
    return mixed == MixedPrecision::Pure ? storage_type(precision) : DataType::FP32;
  }
  [[nodiscard]] bool is_pure() const { return is_mixed(precision) && mixed == MixedPrecision::Pure; }
  /// The optimizer has parameters of its own.
  [[nodiscard]] bool has_master_weights() const {
    return is_mixed(precision) && mixed == MixedPrecision::MasterWeights;
  }
};

}  // namespace lockstep
