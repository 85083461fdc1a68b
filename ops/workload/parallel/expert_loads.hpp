#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// How many tokens each expert of a layer gets, over the mean.
///
///   load of the i-th busiest of N = imbalance / i^s, with s such that the mean is 1: N = imbalance sum i^-s
///
/// Which expert is the i-th is drawn for each layer. Beyond `capacity` tokens are dropped (Fedus et al.,
/// arXiv 2101.03961, section 2.2); without imbalance all have `capacity`, because buffers are padded to it
/// (Megatron-LM
/// --moe-pad-expert-input-to-capacity).
/// *Assumes* the same loads from every rank and in every step and micro-batch; Zipf's law between the busiest
/// and the others (the ratio of the busiest to the mean is what routers' load-balancing losses report).
class ExpertLoads {
 public:
  explicit ExpertLoads(const ExpertsSpec& spec);

  [[nodiscard]] bool are_even() const { return spec_.imbalance == 1; }
  /// Loads by expert; mean 1 when nothing is padded or dropped.
  [[nodiscard]] std::vector<double> of(std::int64_t layer) const;

 private:
  ExpertsSpec spec_;
  std::vector<double> sorted_;  // the busiest first
};

}  // namespace lockstep
