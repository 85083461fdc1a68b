#pragma once

#include <string>

#include "ops/kernel_model.hpp"
#include "ops/kernels/kernel_features.hpp"

namespace lockstep {

/// A network where the GPU has one for the kind of kernel, else a formula.
///
///   t = bound * exp(network(features)), at least kernel_minimum and KernelFeatures::least
///                                                                    (ops/kernels/kernel_features.hpp)
///
/// Asked outside the range of any feature in its training, which begins and ends with the fifth row (2 % of
/// the range beside it count as inside), the network does not answer: the formula does, with 1.5 times its
/// band, and Prediction::fell_back says so.
///
/// *Assumes* that a call between the trained ones, feature by feature, behaves as they do. *Valid for* the
/// ranges in the network's file, on the GPUs it was trained on: on others, whatever they inherit, the formula
/// answers as if there were no network (docs/learned_kernels.md has the errors that say why).
/// *Source*: networks over utilisation: Lee et al., "Forecasting GPU Performance for Deep Learning Training
/// and Inference" (NeuSight), arXiv 2407.13853; sums over tables: Zha et al., AutoShard, arXiv 2208.06399.
/// Trained by `lockstep calibrate fit` (docs/learned_kernels.md).
class LearnedOrFormula final : public KernelModel {
 public:
  /// @param formula must outlive this
  explicit LearnedOrFormula(const KernelModel& formula) : formula_{formula} {}

  /// The formula's: GPUs differ in which networks they have.
  [[nodiscard]] std::string name() const override { return formula_.name(); }
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;

 private:
  const KernelModel& formula_;
};

/// Whether @p network was trained around @p seen.
/// @throws std::invalid_argument for a network whose features are not those of its family
[[nodiscard]] bool covers(const LearnedKernel& network, const KernelFeatures& seen);

/// The network's prediction for a call that it covers.
[[nodiscard]] Seconds learned_time(const LearnedKernel& network, const KernelFeatures& seen,
                                   const GpuSpec& gpu);

}  // namespace lockstep
