#pragma once

#include <array>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// What a training run computes in. The mixed ones are PyTorch's autocast: FP32 parameters (the master
/// weights), casts in front of matrix products.
enum class Precision : std::uint8_t { FP32, TF32, FP16, BF16 };

constexpr auto names_of(Precision) {
  return std::to_array<EnumName<Precision>>({{Precision::FP32, "fp32"},
                                             {Precision::TF32, "tf32"},
                                             {Precision::FP16, "fp16"},
                                             {Precision::BF16, "bf16"}});
}

[[nodiscard]] constexpr bool is_mixed(Precision precision) {
  return precision == Precision::FP16 || precision == Precision::BF16;
}

/// The type of matrix products.
[[nodiscard]] constexpr DataType product_type(Precision precision) {
  switch (precision) {
    case Precision::FP32:
      return DataType::FP32;
    case Precision::TF32:
      return DataType::TF32;
    case Precision::FP16:
      return DataType::FP16;
    case Precision::BF16:
      return DataType::BF16;
  }
  return DataType::FP32;
}

/// The type in which a matrix product leaves its result in memory.
[[nodiscard]] constexpr DataType storage_type(Precision precision) {
  return precision == Precision::TF32 ? DataType::FP32 : product_type(precision);
}

}  // namespace lockstep
