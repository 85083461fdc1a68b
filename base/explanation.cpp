#include "base/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

using Kind = ParameterType::Kind;

void list(const ParameterType& type, const std::string& path, std::vector<PlacedParameter>& found) {
  if (type.kind == Kind::List) {
    list(type.element.front(), path + "[]", found);
  } else if (type.kind == Kind::Table) {
    list(type.element.front(), path + ".*", found);
  }
  for (const Parameter& parameter : type.parameters) {
    const std::string place = path.empty() ? parameter.key : path + "." + parameter.key;
    found.push_back({place, &parameter});
    list(parameter.type, place, found);
  }
}

/// `links[].bandwidth` is also asked for as `links.bandwidth`.
std::string without_brackets(std::string path) {
  for (const char* mark : {"[]", ".*"}) {
    for (auto at = path.find(mark); at != std::string::npos; at = path.find(mark)) {
      path.erase(at, 2);
    }
  }
  return path;
}

bool is_named_by(const PlacedParameter& placed, const std::string& key) {
  const std::string path = without_brackets(placed.path);
  return path == key || path.ends_with("." + key);
}

bool is_inside(const PlacedParameter& placed, const std::string& path) {
  return placed.path.starts_with(path + ".") || placed.path.starts_with(path + "[");
}

std::string when_absent(const Parameter& parameter) {
  return parameter.required ? "required" : "default " + flow_text(parameter.fallback);
}

std::string line(const PlacedParameter& placed) {
  return fmt::format("  {:<40} {:<24} {}\n", placed.path, when_absent(*placed.parameter),
                     placed.parameter->meaning);
}

bool has_word(const std::string& text, const std::string& word) {
  const auto alike = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), alike) != text.end();
}

}  // namespace

std::vector<PlacedParameter> all_parameters(const ParameterType& type) {
  std::vector<PlacedParameter> found;
  list(type, "", found);
  return found;
}

std::optional<std::string> explain(const ParameterType& type, const std::string& key) {
  const std::vector<PlacedParameter> all = all_parameters(type);
  const std::string asked = without_brackets(key);
  std::string text;
  for (const PlacedParameter& placed : all) {
    if (!is_named_by(placed, asked)) {
      continue;
    }
    text += fmt::format("{}{}\n  {}\n  type: {}\n  {}\n", text.empty() ? "" : "\n", placed.path,
                        placed.parameter->meaning, in_words(placed.parameter->type),
                        when_absent(*placed.parameter));
    for (const PlacedParameter& inner : all) {
      text += is_inside(inner, placed.path) ? line(inner) : "";
    }
  }
  return text.empty() ? std::nullopt : std::optional{text};
}

std::string explain_word(const ParameterType& type, const std::string& word) {
  std::string text;
  for (const PlacedParameter& placed : all_parameters(type)) {
    const Parameter& parameter = *placed.parameter;
    const bool is_leaf = parameter.type.parameters.empty();
    if (has_word(placed.path, word) || has_word(parameter.meaning, word) ||
        (is_leaf && has_word(in_words(parameter.type), word))) {
      text += line(placed);
    }
  }
  return text;
}

std::vector<std::string> known_keys(const ParameterType& type) {
  std::set<std::string> known;
  for (const PlacedParameter& placed : all_parameters(type)) {
    known.insert(placed.parameter->key);
    known.insert(without_brackets(placed.path));
  }
  return {known.begin(), known.end()};
}

std::string explain_all(const ParameterType& type) {
  std::string text;
  for (const PlacedParameter& placed : all_parameters(type)) {
    text += line(placed);
  }
  return text;
}

}  // namespace lockstep
