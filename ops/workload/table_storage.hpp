#pragma once

#include "base/units.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Memory that an embedding table in FP32 takes.
struct TableStorage {
  Bytes element{4};  ///< a weight, and what the optimizer keeps for it
  Bytes row{0};      ///< what the optimizer keeps for a row

  [[nodiscard]] Bytes of(double rows, double columns) const { return rows * (columns * element + row); }
};

/// With the states of @p optimizer: Adagrad a sum for each weight, row-wise Adagrad one for each row (FBGEMM,
/// EXACT_ADAGRAD and EXACT_ROWWISE_ADAGRAD), Adam's kin two moments.
constexpr TableStorage storage_of(Optimizer optimizer) {
  constexpr Bytes kFloat{4};
  switch (optimizer) {
    case Optimizer::Sgd:
      return {kFloat, Bytes{0}};
    case Optimizer::Adagrad:
      return {2 * kFloat, Bytes{0}};
    case Optimizer::RowWiseAdagrad:
      return {kFloat, kFloat};
    case Optimizer::AdamW:
    case Optimizer::AdamWHf:
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
      return {3 * kFloat, Bytes{0}};
  }
  return {};
}

}  // namespace lockstep
