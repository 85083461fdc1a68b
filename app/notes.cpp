#include "app/notes.hpp"

#include <fmt/core.h>
#include <spdlog/common.h>

#include <cstdio>

#include "sim/log.hpp"

namespace lockstep {
namespace {

/// One for the process, as the levels of the log are.
bool& notes_are_shown() {
  static bool are_shown = true;
  return are_shown;
}

}  // namespace

void note(const std::string& text) {
  if (notes_are_shown()) {
    fmt::print(stderr, "{}", text);
  }
}

void be_quiet() {
  notes_are_shown() = false;
  set_usual_log_level(spdlog::level::err);
}

}  // namespace lockstep
