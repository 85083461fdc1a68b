#pragma once

namespace lockstep {

/// The version, the same as in CHANGELOG.md and CMakeLists.txt.
inline constexpr const char* kVersion = "lockstep 0.1.0";

}  // namespace lockstep
