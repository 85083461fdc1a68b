#pragma once

#include "ops/kernel_model.hpp"

namespace lockstep {

/// A formula's answer: `band` doubles where the constants come from a relative of the GPU instead of
/// measurements on it.
[[nodiscard]] inline Prediction answer(Seconds duration, double band, const GpuSpec& gpu,
                                       bool in_range = true) {
  const bool calibrated = gpu.efficiency.calibrated;
  return {.duration = duration,
          .band = calibrated ? band : 2 * band,
          .provenance = calibrated ? Provenance::Calibrated : Provenance::Derived,
          .in_range = in_range};
}

}  // namespace lockstep
