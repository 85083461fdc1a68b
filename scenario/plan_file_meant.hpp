#pragma once

#include <string>

#include "base/error.hpp"

namespace lockstep {

/// What to take in place of a file of `lockstep search` that is no plan for a scenario, where @p error is
/// about one: plan.json and torchrec_plan.json are for other programs. "" where it is about something else.
[[nodiscard]] std::string plan_file_meant(const InputError& error);

}  // namespace lockstep
