#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/gpu/learned_kernels.hpp"

namespace lockstep {

/// One call to learn from: its features as they are (ops/kernels/kernel_features.hpp), and ln(time / bound).
struct TrainingCall {
  std::vector<double> call;
  std::vector<std::vector<double>> elements;
  double target = 0;
};

/// How networks are made. The defaults are those of all shipped networks.
struct TrainingOptions {
  std::uint64_t seed = 1;
  int width = 24;               ///< of the two hidden layers of the head, and of those of a trunk
  int most_epochs = 250;        ///< passes over the fitted calls
  int patience = 80;            ///< epochs without a better validation error after which training stops
  int batch = 64;               ///< calls of one step
  double learning_rate = 3e-3;  ///< falls to 0 as a half cosine over most_epochs
};

/// The range of each feature, from the fifth least to the fifth most, @p names in their order. Calls beyond
/// it are too few to tell a network anything. @pre at least one call
[[nodiscard]] std::vector<LearnedFeature> ranges_of(const std::vector<std::string>& names,
                                                    std::span<const std::vector<double>> values);

/// Fills trunk (where there are elements) and head of @p network, whose features and elements are set: the
/// weights with the least mean |error| of @p validation among the epochs (early stopping).
///
///   loss  mean over a mini-batch of s^2 (sqrt(1 + (e / s)^2) - 1), e = output - target, s = 0.05: squares of
///         small errors, absolute values of large ones (pseudo-Huber)
///   steps Adam (Kingma and Ba, ICLR 2015: 0.9, 0.999, 1e-8), gradients by hand
///   start Glorot's uniform weights, biases 0
///
/// Numbers are rounded to six digits, as profiles hold them. Deterministic by seed on one machine.
/// @throws std::invalid_argument for no calls, or no validation
void train(LearnedKernel& network, std::span<const TrainingCall> fitted,
           std::span<const TrainingCall> validation, const TrainingOptions& options);

}  // namespace lockstep
