#pragma once

namespace lockstep {

/// As in CHANGELOG.md and CMakeLists.txt.
inline constexpr const char* kVersion = "lockstep 0.1.0";

}  // namespace lockstep
