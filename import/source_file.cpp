#include "import/source_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/yaml_document.hpp"
#include "import/toml_tree.hpp"

namespace lockstep::importing {
namespace {

/// Line of a byte, from 1.
int line_at(std::string_view text, std::size_t byte) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, std::min(byte, text.size())), '\n'));
}

/// JSON is YAML but for tabs between its tokens.
YamlNode json_tree(const std::string& text, const std::string& name) {
  try {
    if (nlohmann::json::parse(text).is_discarded()) {
      throw InputError{{name}, "no JSON"};
    }
  } catch (const nlohmann::json::parse_error& problem) {
    const std::string said = problem.what();
    const auto colon = said.rfind(": ");
    throw InputError{{name, line_at(text, problem.byte)},
                     "no JSON: " + (colon == std::string::npos ? said : said.substr(colon + 2))};
  }
  std::string blank = text;
  std::ranges::replace(blank, '\t', ' ');  // JSON has no tabs within strings
  return YamlDocument::from_text(blank, name).root();
}

bool is_named(const std::string& name, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
}

/// Whether a line is the head of a TOML table, `[training]`.
bool has_toml_tables(std::string_view text) {
  std::size_t tables = 0, values = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      ++tables;
    } else if (line.find(" = ") != std::string_view::npos) {
      ++values;
    }
    at = end + 1;
  }
  return tables > 0 && values > 0;
}

}  // namespace

const YamlNode* SourceFile::root_key(const std::string& key) const {
  if (!tree || tree->kind != YamlNode::Kind::Mapping) {
    return nullptr;
  }
  const YamlEntry* entry = tree->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

std::vector<std::string_view> SourceFile::lines() const {
  std::vector<std::string_view> all;
  const std::string_view rest{text};
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find('\n', at), rest.size());
    std::string_view line = rest.substr(at, end - at);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    all.push_back(line);
    at = end + 1;
  }
  return all;
}

namespace {

/// The mapping that a text is, if it is one.
std::optional<YamlNode> yaml_mapping(const std::string& text, const std::string& name) {
  try {
    const YamlDocument document = YamlDocument::from_text(text, name);
    if (document.problems().empty() && document.root().kind == YamlNode::Kind::Mapping) {
      return document.root();
    }
  } catch (const InputError&) {
    return std::nullopt;  // another kind of text
  }
  return std::nullopt;
}

SourceFile source_of(const std::string& name, std::string text) {
  SourceFile file{name, std::move(text), std::nullopt};
  const auto first = file.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    throw InputError{{name}, "the file is empty"};
  }
  if (file.text.find('\0') != std::string::npos) {
    return file;  // no text
  }
  if (file.text[first] == '{') {
    file.tree = json_tree(file.text, name);
  } else if (is_named(name, {".toml"}) ||
             (!is_named(name, {".yaml", ".yml", ".sh"}) && has_toml_tables(file.text))) {
    file.tree = toml_tree(file.text, name);
  } else if (is_named(name, {".yaml", ".yml"})) {
    const YamlDocument document = YamlDocument::from_text(file.text, name);
    if (!document.problems().empty()) {
      throw InputError{document.problems()};
    }
    file.tree = document.root();
  }
  return file;
}

}  // namespace

SourceFile read_source(const std::string& name) {
  return source_of(name, read_whole_file(name));
}

SourceFile read_standard_input() {
  const std::string name = "stdin";
  SourceFile file = source_of(name, std::string{std::istreambuf_iterator<char>{std::cin}, {}});
  if (!file.tree) {
    file.tree = yaml_mapping(file.text, name);
  }
  return file;
}

}  // namespace lockstep::importing
