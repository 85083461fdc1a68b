#pragma once

#include "synth/fit.hpp"

namespace lockstep::synth {

/// One Program of @p recording with what is repeated written once. Times of what is repeated are its means,
/// with their spread.
[[nodiscard]] Template template_of(const Recording& recording, std::size_t program,
                                   const FitOptions& options);

}  // namespace lockstep::synth
