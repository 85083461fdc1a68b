#pragma once

#include <span>
#include <vector>

#include "ops/gpu/learned_kernels.hpp"

namespace lockstep {

/// The output of @p network: its head's output for @p call and the sum of its trunk's over @p elements.
/// Each feature is scaled so that its training range is -1 to 1 (0 where it was always the same).
///
///   x' = (2 x - least - most) / (most - least);   layer: y = W x + b, tanh(y) where another follows;
///   trunk: tanh after its last layer, too
///
/// @pre as many numbers as the network has features (@p call) and elements (each of @p elements)
[[nodiscard]] double evaluate(const LearnedKernel& network, std::span<const double> call,
                              std::span<const std::vector<double>> elements);

/// The scaled feature.
[[nodiscard]] double scaled(const LearnedFeature& feature, double value);

}  // namespace lockstep
