#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace lockstep::importing {

/// A character of a script and its place. A variable's characters keep the place where they were written.
struct PlacedChar {
  char letter = ' ';
  int line = 0, column = 0;
};

/// A word of a command.
struct ShellWord {
  std::vector<PlacedChar> letters;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] SourceLocation at(const std::string& file) const;
};

using ShellCommand = std::vector<ShellWord>;

/// The letters of a script without continued lines, each with its place.
[[nodiscard]] std::vector<PlacedChar> placed_letters(std::string_view text);

/// Splits a word at blanks, as the shell does with a variable that stands without quotes.
void split(const ShellWord& word, ShellCommand& into);

}  // namespace lockstep::importing
