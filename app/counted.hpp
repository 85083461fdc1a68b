#pragma once

#include <string>

namespace lockstep {

/// `15 T`, `2.5 M`, `300`: four digits with the prefixes of counts.
[[nodiscard]] std::string counted(double value);

}  // namespace lockstep
