#pragma once

/// @file
/// Rows that lookups take: by the popularity of the rows, as Lockstep's index model says
/// (ops/kernels/index_model).

#include <cstdint>
#include <vector>

#include "generate/runtime/table.hpp"

namespace benchmark {

/// A stream of random numbers: SplitMix64.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_{seed} {}
  [[nodiscard]] std::uint64_t bits();
  [[nodiscard]] double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }  ///< in [0, 1)
  [[nodiscard]] double normal();

 private:
  std::uint64_t state_;
};

/// Rows of @p table that so many lookups take, one after the other, each from 0 to below its `rows`.
///
///   reuse_factor given  as many different rows, each as often
///   zipf above 0        P(r-th row) ~ r^-zipf
///   else                popularity exp(s z), z normal, s = index_skew ln 2: a draw by popularity is a z of
///   mean s
///
/// Each draw comes `index_duplication` times; `active_rows` of the rows take part; neighbours in popularity
/// lie apart in memory.
[[nodiscard]] std::vector<std::int64_t> draw_rows(const Fields& table, std::int64_t look_ups,
                                                  RandomNumbers& random);

}  // namespace benchmark
