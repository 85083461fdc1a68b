#pragma once

#include <array>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// What a training run computes in. The mixed ones are PyTorch's autocast: FP32 parameters (the master
/// weights), casts in front of matrix products. FP8 is Transformer Engine's: BF16, and FP8 in the linear
/// layers of transformer blocks (ops/workload/parallel/fp8.hpp).
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

}  // namespace lockstep
