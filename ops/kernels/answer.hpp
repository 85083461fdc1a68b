#pragma once

#include "ops/kernel_model.hpp"

namespace lockstep {

/// A formula's answer. @p band is the error seen where the constants were measured on the GPU itself; it
/// doubles where they come from a relative (@p calibrated false).
[[nodiscard]] inline Prediction answer(Seconds duration, double band, bool calibrated, bool in_range = true) {
  return {.duration = duration,
          .band = calibrated ? band : 2 * band,
          .provenance = calibrated ? Provenance::Calibrated : Provenance::Derived,
          .in_range = in_range};
}

}  // namespace lockstep
