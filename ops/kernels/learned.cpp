#include "ops/kernels/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/network.hpp"

namespace lockstep {
namespace {

constexpr double kBeside = 0.02;        // of a feature's range
constexpr double kWiderFallBack = 1.5;  // nobody has measured the formula there on this GPU either

void check_names(const LearnedKernel& network, const std::vector<LearnedFeature>& features,
                 const std::vector<std::string>& names) {
  if (!std::ranges::equal(features, names, {}, &LearnedFeature::name)) {
    throw std::invalid_argument(fmt::format(
        "the network for {} {} sees other features than this version of Lockstep shows it ({}): fit it again "
        "with lockstep calibrate fit",
        name_of(network.family), network.type, fmt::join(names, ", ")));
  }
}

bool inside(const std::vector<LearnedFeature>& features, const std::vector<double>& values) {
  return std::ranges::equal(features, values, [](const LearnedFeature& feature, double value) {
    const double beside = kBeside * (feature.most - feature.least) + 1e-9;
    return value >= feature.least - beside && value <= feature.most + beside;
  });
}

/// False where no network is of this kind of lookup, whose features take long to work out.
bool may_answer(const LearnedKernels& learned, const KernelCall& call) {
  const auto* const bags = std::get_if<EmbeddingBags>(&call.work);
  const LearnedFamily family = bags != nullptr && bags->direction == Direction::Backward
                                   ? LearnedFamily::EmbeddingBackward
                                   : LearnedFamily::EmbeddingForward;
  return bags == nullptr ||
         std::ranges::find(learned.kernels, family, &LearnedKernel::family) != learned.kernels.end();
}

}  // namespace

bool covers(const LearnedKernel& network, const KernelFeatures& seen) {
  check_names(network, network.features, call_feature_names(network.family));
  check_names(network, network.elements, element_feature_names(network.family));
  return inside(network.features, seen.call) &&
         std::ranges::all_of(seen.elements, [&](const auto& part) { return inside(network.elements, part); });
}

Seconds learned_time(const LearnedKernel& network, const KernelFeatures& seen, const GpuSpec& gpu) {
  return std::max(
      {gpu.kernel_minimum, seen.least, seen.bound * std::exp(evaluate(network, seen.call, seen.elements))});
}

Prediction LearnedOrFormula::predict(const KernelCall& call, const GpuSpec& gpu) const {
  if (!gpu.learned) return formula_.predict(call, gpu);
  const LearnedKernels& learned = **gpu.learned;
  if (!may_answer(learned, call)) return formula_.predict(call, gpu);
  const std::optional<KernelFeatures> seen = kernel_features(call, gpu);
  const LearnedKernel* network = seen ? learned.find(seen->family, seen->type, seen->layout) : nullptr;
  if (network == nullptr) return formula_.predict(call, gpu);
  if (covers(*network, *seen)) {
    return make_prediction(learned_time(*network, *seen, gpu), network->band, true);
  }
  Prediction prediction = formula_.predict(call, gpu);
  prediction.band *= kWiderFallBack;
  prediction.fell_back = true;
  return prediction;
}

}  // namespace lockstep
