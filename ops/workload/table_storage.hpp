#pragma once

#include "base/units.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Memory that an embedding table in FP32 takes.
struct TableStorage {
  Bytes weight{4};
  Bytes state{0};  ///< what is kept for a weight besides, of the optimizer or its gradient
  Bytes row{0};    ///< what the optimizer keeps for a row

  [[nodiscard]] Bytes of(double rows, double columns) const {
    return rows * (columns * (weight + state) + row);
  }
};

/// Extra bytes for a table in host memory: each row's table (FBGEMM's cache_index_table_map), and each
/// place's row and age (lxu_cache_state, lxu_state).
inline constexpr Bytes kCachedRow{4};
inline constexpr Bytes kCachePlace{16};

/// Storage with the states of @p optimizer: Adagrad a sum for each weight, row-wise Adagrad one for each row
/// (FBGEMM, EXACT_ADAGRAD and EXACT_ROWWISE_ADAGRAD), Adam's kin two moments.
constexpr TableStorage storage_of(Optimizer optimizer) {
  constexpr Bytes kFloat{4};
  switch (optimizer) {
    case Optimizer::Sgd:
      return {kFloat, Bytes{0}, Bytes{0}};
    case Optimizer::Adagrad:
      return {kFloat, kFloat, Bytes{0}};
    case Optimizer::RowWiseAdagrad:
      return {kFloat, Bytes{0}, kFloat};
    case Optimizer::AdamW:
    case Optimizer::AdamWHf:
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
      return {kFloat, 2 * kFloat, Bytes{0}};
  }
  return {};
}

}  // namespace lockstep
