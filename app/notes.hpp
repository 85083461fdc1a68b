#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace lockstep {

/// Prints what helps, but is no part of the answer, on stderr. After be_quiet() it prints nothing.
void note(const std::string& text);

template <class First, class... Args>
void note(fmt::format_string<First, Args...> format, First&& first, Args&&... args) {
  note(fmt::format(format, std::forward<First>(first), std::forward<Args>(args)...));
}

/// `--quiet`: for the rest of the process stderr has errors alone, of notes and of the log.
void be_quiet();

}  // namespace lockstep
