#include "import/shell_word.hpp"

#include <utility>

namespace lockstep::importing {

std::string ShellWord::text() const {
  std::string all;
  for (const PlacedChar& letter : letters) {
    all += letter.letter;
  }
  return all;
}

SourceLocation ShellWord::at(const std::string& file) const {
  return letters.empty() ? SourceLocation{file, 0, 0}
                         : SourceLocation{file, letters.front().line, letters.front().column};
}

std::vector<PlacedChar> placed_letters(std::string_view text) {
  std::vector<PlacedChar> all;
  int line = 1, column = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::size_t behind = text.substr(i + 1).starts_with("\r\n") ? 2 : 1;
    if (c == '\\' && i + behind < text.size() && text[i + behind] == '\n') {
      i += behind;
      ++line;
      column = 1;
      all.push_back({' ', line, column});  // words stay apart as their authors wrote them
      continue;
    }
    if (c != '\r') {
      all.push_back({c, line, column});
    }
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return all;
}

void split(const ShellWord& word, ShellCommand& into) {
  ShellWord part;
  for (const PlacedChar& letter : word.letters) {
    if (letter.letter != ' ' && letter.letter != '\t' && letter.letter != '\n') {
      part.letters.push_back(letter);
    } else if (!part.letters.empty()) {
      into.push_back(std::exchange(part, {}));
    }
  }
  if (!part.letters.empty()) {
    into.push_back(std::move(part));
  }
}

}  // namespace lockstep::importing
