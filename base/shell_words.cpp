#include "base/shell_words.hpp"

#include <string_view>

namespace lockstep {
namespace {

constexpr const char* kPlainOfShells =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,%@";

}  // namespace

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kPlainOfShells) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string{c};
  }
  return quoted + "'";
}

}  // namespace lockstep
