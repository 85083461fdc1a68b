#include "scenario/overrides.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/shell_words.hpp"

namespace lockstep {
namespace {

/// Follows quotes and brackets of YAML's flow style through a text.
class Nesting {
 public:
  void read(char c) {
    if (quote_ != 0) {
      quote_ = c == quote_ ? '\0' : quote_;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '[' || c == '{') {
      ++depth_;
    } else if (c == ']' || c == '}') {
      --depth_;
    }
  }
  [[nodiscard]] bool is_outside() const { return depth_ == 0 && quote_ == 0; }

 private:
  int depth_ = 0;
  char quote_ = 0;
};

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t") == std::string::npos;
}

}  // namespace

std::vector<Override> overrides_of(const std::vector<std::string>& assignments) {
  std::vector<Override> overrides;
  for (const std::string& assignment : assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw std::invalid_argument{
          fmt::format("--set {}: expected KEY=VALUE, e.g. --set steps=5", assignment)};
    }
    overrides.push_back({assignment.substr(0, equals), assignment.substr(equals + 1)});
  }
  return overrides;
}

std::string as_typed(const std::string& scenario, const std::vector<Override>& overrides) {
  std::string words = shell_quoted(scenario);
  for (const Override& given : overrides) {
    words += " --set " + shell_quoted(given.key_path + "=" + given.value);
  }
  return words;
}

std::string set_meant(const std::string& word) {
  const bool is_assignment = !word.empty() && word.front() != '-' && word.find('=') != std::string::npos;
  return is_assignment ? fmt::format(" - each KEY=VALUE needs a --set of its own: --set {}", word) : "";
}

std::vector<std::string> values_of(const Override& given) {
  std::vector<std::string> values{""};
  Nesting nesting;
  for (const char c : given.value) {
    nesting.read(c);
    if (c == ',' && nesting.is_outside()) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (!nesting.is_outside()) {
    throw std::invalid_argument{
        fmt::format("--set {}={}: a bracket or quote is not closed", given.key_path, given.value)};
  }
  for (const std::string& value : values) {
    if (values.size() > 1 && is_blank(value)) {
      throw std::invalid_argument{
          fmt::format("--set {}={}: a value is missing beside a comma", given.key_path, given.value)};
    }
  }
  return values;
}

}  // namespace lockstep
