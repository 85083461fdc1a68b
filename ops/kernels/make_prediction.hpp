#pragma once

#include <algorithm>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// The evidence behind a kernel that streams with the fraction or latency @p key of the GPU's set: the worse
/// of that and of the set's `memory`, at best derived where the set was not made for this GPU.
[[nodiscard]] inline Provenance provenance_of(const GpuSpec& gpu, const char* key) {
  const KernelEfficiency& set = *gpu.efficiency;
  const Provenance own =
      std::max(evidence_for(set.provenance, "memory").is, evidence_for(set.provenance, key).is);
  return set.calibrated ? own : std::max(own, Provenance::Derived);
}

/// A formula's answer. @p band is the error seen where the constants are of the GPU itself; it doubles where
/// they are not.
[[nodiscard]] inline Prediction make_prediction(Seconds duration, double band, Provenance provenance,
                                                bool in_range = true) {
  return {.duration = duration,
          .band = is_own(provenance) ? band : 2 * band,
          .provenance = provenance,
          .in_range = in_range};
}

/// The same of constants that were either fitted on this GPU (@p calibrated) or come from a relative.
[[nodiscard]] inline Prediction make_prediction(Seconds duration, double band, bool calibrated,
                                                bool in_range = true) {
  return make_prediction(duration, band, calibrated ? Provenance::Fitted : Provenance::Derived, in_range);
}

}  // namespace lockstep
