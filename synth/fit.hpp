#pragma once

#include <span>
#include <string>

#include "synth/model.hpp"
#include "synth/recording.hpp"

namespace lockstep::synth {

struct FitOptions {
  std::string family = "jobs";
  std::uint32_t min_support = 5;  ///< spreads of what was seen less often are those of its class
  bool exact = false;             ///< what is repeated is written once only where it takes equally long too
};

/// The model of @p recordings. What a job's ranks share is learnt once.
/// @throws std::invalid_argument for no recording
[[nodiscard]] Model fit(std::span<const Recording> recordings, const FitOptions& options);

}  // namespace lockstep::synth
