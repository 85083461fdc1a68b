#pragma once

namespace lockstep {

/// The program's name and its version, e.g. "lockstep 0.5.0"; the version is that of CMakeLists.txt.
extern const char* const kVersion;

}  // namespace lockstep
