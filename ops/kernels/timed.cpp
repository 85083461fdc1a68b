#include "ops/kernels/timed.hpp"

#include "base/provenance.hpp"

namespace lockstep {

std::string TimedModel::name() const {
  return "timed: given duration";
}

Prediction TimedModel::predict(const KernelCall& call, const GpuSpec& /*gpu*/) const {
  if (call.name.ends_with(kDerivedMark) || call.name.ends_with(kGuessedMark)) {
    return {.duration = std::get<Timed>(call.work).duration,
            .band = half_width(Evidence{}),
            .provenance = Provenance::Guessed};
  }
  return {.duration = std::get<Timed>(call.work).duration, .band = 0, .provenance = Provenance::Measured};
}

}  // namespace lockstep
