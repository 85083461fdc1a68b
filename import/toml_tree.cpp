#include "import/toml_tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "base/error.hpp"

namespace lockstep::importing {
namespace {

SourceLocation place(const toml::source_region& source, const std::string& name) {
  return {name, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

YamlNode node_of(const toml::node& value, const std::string& name) {
  const SourceLocation at = place(value.source(), name);
  if (const toml::table* table = value.as_table()) {
    YamlNode mapping = yaml_node(YamlNode::Kind::Mapping, at);
    for (const auto& [key, inner] : *table) {
      mapping.entries.push_back({std::string{key.str()}, place(key.source(), name), node_of(inner, name)});
    }
    return mapping;
  }
  if (const toml::array* array = value.as_array()) {
    YamlNode list = yaml_node(YamlNode::Kind::Sequence, at);
    for (const toml::node& item : *array) {
      list.items.push_back(node_of(item, name));
    }
    return list;
  }
  if (const auto text = value.value<std::string>(); value.is_string() && text) {
    return yaml_node(YamlNode::Kind::Scalar, at, *text);
  }
  std::ostringstream written;
  value.visit([&](const auto& typed) { written << typed; });
  return yaml_node(YamlNode::Kind::Scalar, at, written.str());
}

}  // namespace

YamlNode toml_tree(const std::string& text, const std::string& name) {
  try {
    return node_of(toml::parse(text, name), name);
  } catch (const toml::parse_error& problem) {
    throw InputError{place(problem.source(), name), "no TOML: " + std::string{problem.description()}};
  }
}

}  // namespace lockstep::importing
