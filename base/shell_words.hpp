#pragma once

#include <string>

namespace lockstep {

/// A word as a shell reads it back: in single quotes where it has to be.
[[nodiscard]] std::string shell_quoted(const std::string& word);

}  // namespace lockstep
