#pragma once

#include <string>

#include "ops/kernel.hpp"

namespace lockstep {

/// `"m":128,"n":64,...,"type":"fp32",` : a kernel's shapes and sizes as members of a JSON object, each
/// followed by a comma. The members are named as the fields of the work (ops/kernel.hpp); sizes in bytes.
[[nodiscard]] std::string shape_members(const KernelCall& kernel);

}  // namespace lockstep
