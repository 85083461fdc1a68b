#pragma once

/// @file
/// Jobs as `lockstep synth` takes them: scenarios of every kind, and recorded profiles.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "synth/recording.hpp"

namespace lockstep {

struct SynthInput {
  /// Scenarios (a name of `lockstep list`, a file, or its folder, exported traces among them), or profiles: a
  /// file, or a folder with those of a job's ranks. A job each.
  std::vector<std::string> jobs;
  std::vector<std::string> labels;  ///< `hidden=768,layers=12`, one for each job; empty: none
  std::string gpu;                  ///< that profiles were recorded on (configs/gpus); empty: not said
  std::uint32_t ranks = 0;          ///< of a job of which one rank's profile is given; 0: as many as profiles
};

/// @throws InputError for what cannot be read, labels that are none or not as many as jobs
[[nodiscard]] std::vector<synth::Recording> read_recordings(const SynthInput& input);

/// Step time of a scenario, simulated; none for a profile.
[[nodiscard]] std::optional<Seconds> simulated_step(const std::string& job);

}  // namespace lockstep
