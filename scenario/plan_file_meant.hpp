#pragma once

#include <string>

#include "base/error.hpp"

namespace lockstep {

/// The file to take in place of a file of `lockstep search` that is no plan for a scenario (@p error):
/// plan.json and torchrec_plan.json are for other programs. "" where the error is about something else.
[[nodiscard]] std::string plan_file_meant(const InputError& error);

}  // namespace lockstep
