#include "schedule/attribution.hpp"

#include <numeric>

namespace lockstep {

StepParts scaled_to(const StepParts& raw, double step) {
  const double sum = std::accumulate(raw.begin(), raw.end(), 0.0);
  StepParts parts{};
  if (!(sum > 0)) {
    parts[static_cast<std::size_t>(StepPart::Products)] = step;
    return parts;
  }
  for (std::size_t part = 0; part < kStepParts; ++part) {
    parts[part] = raw[part] * (step / sum);
  }
  return parts;
}

std::vector<Loss> losses(const StepParts& phase, const StepParts& full, double flops_ratio) {
  std::vector<Loss> all;
  for (std::size_t part = 0; part < kStepParts; ++part) {
    all.push_back({static_cast<StepPart>(part), phase[part] - flops_ratio * full[part]});
  }
  return all;
}

}  // namespace lockstep
