#include "import/shell_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "import/shell_arithmetic.hpp"

namespace lockstep::importing {
namespace {

using Letters = std::vector<PlacedChar>;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Shell {
 public:
  Shell(std::string_view text, const std::string& file) : letters_{placed_letters(text)}, file_{file} {}

  /// The words of each variable and list, behind run().
  [[nodiscard]] std::vector<ShellCommand> lists() const {
    std::vector<ShellCommand> all;
    for (const auto& [name, words] : variables_) {
      ShellCommand& list = all.emplace_back();
      for (const ShellWord& word : words) {
        split(word, list);
      }
    }
    return all;
  }

  std::vector<ShellCommand> run() {
    while (at_ < letters_.size()) {
      step();
    }
    end_command();
    return std::move(commands_);
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < letters_.size() ? letters_[at_ + ahead].letter : '\0';
  }

  [[noreturn]] void unfinished(const PlacedChar& begin, const std::string& what) const {
    throw InputError{{file_, begin.line, begin.column}, what + " has no end in the file"};
  }

  void step() {
    switch (const char c = here(); c) {
      case '#':
        if (!has_word_ && word_.empty()) {
          return comment();
        }
        break;
      case '\n':
      case ';':
      case '&':
      case '|':
        if (list_depth_ > 0) {
          end_word();
        } else {
          end_command();
        }
        ++at_;
        return;
      case ' ':
      case '\t':
        end_word();
        ++at_;
        return;
      case '(':
      case ')':
        return bracket(c);
      case '\'':
        return single_quotes();
      case '"':
        return double_quotes();
      case '$':
      case '`':
        return expand(false);
      case '\\':
        ++at_;
        break;
      default:
        break;
    }
    if (at_ < letters_.size()) {
      word_.push_back(letters_[at_++]);
    }
  }

  /// A comment ends with its line: a backslash there continues nothing. In a list the next line goes on; of a
  /// command what follows is not part any more, and placed_letters() has joined it to the comment.
  void comment() {
    const int line = letters_[at_].line;
    while (at_ < letters_.size() && here() != '\n' && (list_depth_ == 0 || letters_[at_].line == line)) {
      ++at_;
    }
  }

  /// `NAME=( ... )` is a list; other brackets only separate.
  void bracket(char c) {
    ++at_;
    if (c == '(' && !word_.empty() && word_.back().letter == '=') {
      const ShellWord name{word_};
      word_.clear();
      list_ = name.text();
      list_words_.clear();
      ++list_depth_;
      list_begin_ = letters_[at_ - 1];
      return;
    }
    end_word();
    if (c == ')' && list_depth_ > 0) {
      --list_depth_;
      std::string name = list_.substr(0, list_.size() - 1);
      const bool adds = name.ends_with('+');
      if (adds) {
        name.pop_back();
      }
      std::vector<ShellWord>& value = variables_[name];
      if (!adds) {
        value.clear();
      }
      std::ranges::move(list_words_, std::back_inserter(value));
      command_.clear();
    }
  }

  void single_quotes() {
    const PlacedChar begin = letters_[at_++];
    has_word_ = true;
    while (here() != '\'') {
      if (at_ >= letters_.size()) {
        unfinished(begin, "a single quote");
      }
      word_.push_back(letters_[at_++]);
    }
    ++at_;
  }

  void double_quotes() {
    const PlacedChar begin = letters_[at_++];
    has_word_ = true;
    while (here() != '"') {
      if (at_ >= letters_.size()) {
        unfinished(begin, "a double quote");
      }
      if (here() == '$' || here() == '`') {
        expand(true);
      } else {
        if (here() == '\\' && (here(1) == '"' || here(1) == '\\' || here(1) == '$')) {
          ++at_;
        }
        word_.push_back(letters_[at_++]);
      }
    }
    ++at_;
  }

  /// Text up to the bracket that closes what opened at_.
  std::string bracketed(char open, char close) {
    const PlacedChar begin = letters_[at_];
    std::string inside;
    int depth = 0;
    do {
      if (at_ >= letters_.size()) {
        unfinished(begin, std::string{"'"} + open + "'");
      }
      depth += here() == open ? 1 : 0;
      depth -= here() == close ? 1 : 0;
      inside += letters_[at_++].letter;
    } while (depth > 0);
    return inside.substr(1, inside.size() - 2);
  }

  void expand(bool quoted) {
    const PlacedChar begin = letters_[at_];
    if (here() == '`') {
      ++at_;
      while (at_ < letters_.size() && here() != '`') {
        ++at_;
      }
      ++at_;
      return unknown("$(...)", begin);
    }
    ++at_;
    if (here() == '(') {
      const std::string inside = bracketed('(', ')');
      const auto number = inside.starts_with('(')
                              ? shell_number(inside.substr(1, inside.size() - 2), numbers())
                              : std::nullopt;
      return number ? put(std::to_string(*number), begin) : unknown("$(" + inside + ")", begin);
    }
    if (here() == '{') {
      return variable(bracketed('{', '}'), begin, quoted);
    }
    std::string name;
    while (is_name_char(here())) {
      name += letters_[at_++].letter;
    }
    if (name.empty()) {  // $@, $?, $!
      name = here() == '\0' || here() == '"' ? "" : std::string{letters_[at_++].letter};
    }
    variable(name, begin, quoted);
  }

  void variable(const std::string& written, const PlacedChar& begin, bool quoted) {
    const auto end = std::ranges::find_if_not(written, is_name_char);
    const std::string name{written.begin(), end}, behind{end, written.end()};
    const auto found = variables_.find(name);
    if (found != variables_.end() && !found->second.empty()) {
      return insert(found->second, !quoted           ? Expansion::Split
                                   : behind == "[@]" ? Expansion::Words
                                                     : Expansion::One);
    }
    if (behind.starts_with(":-") || behind.starts_with(":=") || behind.starts_with("-")) {
      return put_default(behind.substr(behind.front() == ':' ? 2 : 1), begin);
    }
    if (found == variables_.end()) {
      unknown("$" + name, begin);
    }
  }

  void put_default(const std::string& text, const PlacedChar& begin) {
    std::string plain = text;
    std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
    if (plain.starts_with('$')) {
      std::erase_if(plain, [](char c) { return c == '{' || c == '}' || c == '$'; });
      return variable(plain, begin, false);
    }
    put(plain, begin);
  }

  /// A variable without quotes, `"${NAME[@]}"`, and any other in quotes.
  enum class Expansion : std::uint8_t { Split, Words, One };

  void insert(const std::vector<ShellWord>& words, Expansion expansion) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0) {
        expansion == Expansion::One ? word_.push_back({' ', 0, 0}) : end_word();
      }
      for (const PlacedChar& letter : words[i].letters) {
        const bool is_blank = letter.letter == ' ' || letter.letter == '\n' || letter.letter == '\t';
        if (is_blank && expansion == Expansion::Split) {
          end_word();
        } else {
          word_.push_back(letter);
        }
      }
    }
  }

  void put(const std::string& text, const PlacedChar& begin) {
    for (const char c : text) {
      word_.push_back({c, begin.line, begin.column});
    }
  }

  void unknown(const std::string& text, const PlacedChar& begin) { put(text, begin); }

  [[nodiscard]] std::map<std::string, std::string> numbers() const {
    std::map<std::string, std::string> values;
    for (const auto& [name, words] : variables_) {
      if (words.size() == 1) {
        values.emplace(name, words.front().text());
      }
    }
    return values;
  }

  void end_word() {
    if (word_.empty() && !has_word_) {
      return;
    }
    ShellWord whole{std::move(word_)};
    word_.clear();
    has_word_ = false;
    if (list_depth_ > 0) {
      list_words_.push_back(std::move(whole));
      return;
    }
    command_.push_back(std::move(whole));
  }

  void end_command() {
    end_word();
    if (list_depth_ > 0) {
      unfinished(list_begin_, "the list " + list_);
    }
    while (!command_.empty() && is_prefix(command_.front())) {
      command_.erase(command_.begin());
    }
    if (!command_.empty()) {
      commands_.push_back(std::move(command_));
    }
    command_.clear();
  }

  /// Keywords, and assignments, which are carried out.
  bool is_prefix(const ShellWord& word) {
    constexpr std::array<std::string_view, 13> kKeywords{"if",      "then",  "else",    "elif", "do",
                                                         "while",   "for",   "done",    "fi",   "export",
                                                         "declare", "local", "readonly"};
    const std::string text = word.text();
    const auto equals = text.find('=');
    if (std::ranges::count(kKeywords, text) > 0) {
      return true;
    }
    if (equals == std::string::npos || equals == 0 ||
        std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
      return false;
    }
    const std::size_t name_end = text[equals - 1] == '+' ? equals - 1 : equals;
    if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(name_end), is_name_char)) {
      return false;
    }
    assign(text.substr(0, name_end), name_end < equals,
           {word.letters.begin() + static_cast<std::ptrdiff_t>(equals) + 1, word.letters.end()});
    return true;
  }

  void assign(const std::string& name, bool adds, Letters value) {
    std::vector<ShellWord>& words = variables_[name];
    if (adds && words.size() == 1) {
      std::ranges::copy(value, std::back_inserter(words.front().letters));
      return;
    }
    words.assign(1, ShellWord{std::move(value)});
  }

  Letters letters_;
  std::string file_;
  std::size_t at_ = 0;
  Letters word_;
  bool has_word_ = false;  // quotes were there, if only empty ones
  ShellCommand command_;
  int list_depth_ = 0;
  std::string list_;  // `NAME=` or `NAME+=`
  PlacedChar list_begin_;
  std::vector<ShellWord> list_words_;
  std::map<std::string, std::vector<ShellWord>> variables_;
  std::vector<ShellCommand> commands_;
};

}  // namespace

std::vector<ShellCommand> shell_lists(std::string_view text, const std::string& file) {
  Shell shell{text, file};
  static_cast<void>(shell.run());
  return shell.lists();
}

std::vector<ShellCommand> shell_commands(std::string_view text, const std::string& file) {
  return Shell{text, file}.run();
}

}  // namespace lockstep::importing
