#pragma once

#include <string>
#include <string_view>

#include "ops/program.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep::replay {

/// Whether @p pattern is in a name, in any case; `*` stands for anything.
[[nodiscard]] bool has_name(const std::string& name, std::string_view pattern);

/// What WhatIfSpec says of kernels and collectives: faster, fewer, fused, compressed. Instructions keep their
/// places: those that are gone do nothing.
void edit_work(Program& program, const WhatIfSpec& edit);

}  // namespace lockstep::replay
