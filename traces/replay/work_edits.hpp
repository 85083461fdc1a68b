#pragma once

#include <string>
#include <string_view>

#include "ops/program.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep::replay {

/// Whether @p pattern is in a name, in any case; `*` stands for anything.
[[nodiscard]] bool has_name(const std::string& name, std::string_view pattern);

/// The same, or the kernel is of the family of that name. Communication is found by its name alone: other
/// edits change it.
[[nodiscard]] bool is_named(const std::string& kernel, const WorkOrigin& origin, std::string_view pattern);

/// Whether an edit means a kernel: by all that it says.
[[nodiscard]] bool is_meant(const KernelEdit& edit, const std::string& kernel, const WorkOrigin& origin);

/// Applies WhatIfSpec to kernels and collectives: faster, fewer, fused, compressed. Instructions keep their
/// places: those that are gone do nothing.
/// @param origins of the Program's kernels
void edit_work(Program& program, const WhatIfSpec& edit, const KernelOrigins& origins);

}  // namespace lockstep::replay
