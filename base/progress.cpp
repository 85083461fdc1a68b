#include "base/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace lockstep {

Progress::Progress(bool quiet) : shown_{!quiet && isatty(STDERR_FILENO) == 1} {}

void Progress::say(const std::string& what) const {
  if (shown_) {
    fmt::print(stderr, "\r\x1b[K{} ...", what);
    std::fflush(stderr);
  }
}

void Progress::done() const {
  if (shown_) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

}  // namespace lockstep
