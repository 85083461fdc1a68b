#include "base/yaml_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/changed_configuration.hpp"
#include "base/config_path.hpp"
#include "base/file.hpp"
#include "base/yaml_tree.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

constexpr const char* kInclude = "include";

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts{""};
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

YamlNode* item(YamlNode& list, const std::string& part, const SourceLocation& origin) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc{} || end != part.data() + part.size() || index >= list.items.size()) {
    throw InputError{origin, "'" + part + "' is no item of a list of " + std::to_string(list.items.size()) +
                                 " (they are numbered from 0)"};
  }
  return &list.items[index];
}

YamlNode* step_into(YamlNode& node, const std::string& part, const SourceLocation& origin) {
  if (node.kind == YamlNode::Kind::Sequence) {
    return item(node, part, origin);
  }
  if (node.kind == YamlNode::Kind::Scalar) {  // a named configuration, of which a part changes
    YamlNode named = std::exchange(node, yaml_node(YamlNode::Kind::Mapping, node.at));
    node.entries.push_back({"from", named.at, std::move(named)});
  }
  node.kind = YamlNode::Kind::Mapping;
  if (YamlEntry* entry = node.find(part)) {
    return &entry->value;
  }
  node.entries.push_back({part, origin, yaml_node(YamlNode::Kind::Null, origin)});
  return &node.entries.back().value;
}

/// @throws InputError for a file that cannot be read, and for one that is too large for a configuration
std::string configuration_text(const fs::path& file) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20U;
  std::error_code ignored;
  const std::uintmax_t size = fs::is_regular_file(file, ignored) ? fs::file_size(file, ignored) : 0;
  if (!ignored && size > kMostBytes) {
    throw InputError{{file.string()},
                     fmt::format("has {} bytes; a configuration has at most {}", size, kMostBytes)};
  }
  return read_whole_file(file);
}

void relocate(YamlNode& node, const SourceLocation& origin) {
  node.at = origin;
  for (YamlNode& child : node.items) {
    relocate(child, origin);
  }
  for (YamlEntry& entry : node.entries) {
    entry.at = origin;
    relocate(entry.value, origin);
  }
}

}  // namespace

/// Follows the includes of one document.
class YamlLoader {
 public:
  YamlNode tree(const std::string& text, const fs::path& file) {
    chain_.push_back(file.string());
    YamlNode root = parse_yaml(text, file.string(), document_.problems_);
    YamlNode under = yaml_node(YamlNode::Kind::Mapping, {});
    if (const YamlEntry* entry = root.find(kInclude)) {
      for (const YamlNode& name : names(entry->value)) {
        under = overlaid(std::move(under), included(name, file));
      }
      root.entries.erase(root.entries.begin() + (entry - root.entries.data()));
    }
    chain_.pop_back();
    return changed_configuration(std::move(under), std::move(root));
  }

  YamlDocument document(const std::string& file, YamlNode root) {
    document_.file_ = file;
    document_.root_ = std::move(root);
    return std::move(document_);
  }

 private:
  static std::vector<YamlNode> names(const YamlNode& value) {
    const std::vector<YamlNode> all =
        value.kind == YamlNode::Kind::Sequence ? value.items : std::vector<YamlNode>{value};
    for (const YamlNode& name : all) {
      if (name.kind != YamlNode::Kind::Scalar) {
        throw InputError{name.at, "include: expected a file name or a list of them, not " + in_words(name)};
      }
    }
    return all;
  }

  YamlNode included(const YamlNode& name, const fs::path& from) {
    const fs::path beside = (from.parent_path() / name.scalar).lexically_normal();
    std::error_code ignored;
    const fs::path file =
        fs::exists(beside, ignored) ? beside : ConfigPath::standard().find_part(name.scalar).value_or(beside);
    const auto earlier = std::find(chain_.begin(), chain_.end(), file.string());
    if (earlier != chain_.end()) {
      std::string circle;
      for (auto link = earlier; link != chain_.end(); ++link) {
        circle += *link + " -> ";
      }
      throw InputError{name.at, "include goes round in a circle: " + circle + file.string()};
    }
    if (!fs::exists(file, ignored)) {
      throw InputError{name.at, "include: there is no file " + file.string() + sibling_meant(file)};
    }
    if (!fs::is_regular_file(file, ignored)) {
      throw InputError{name.at, "include: " + file.string() + " is no regular file"};
    }
    document_.included_from_.emplace(file.string(), name.at);
    try {
      YamlNode root = tree(configuration_text(file), file);
      if (root.kind != YamlNode::Kind::Mapping) {
        throw InputError{root.at, "expected a mapping in an included file, not " + in_words(root)};
      }
      return root;
    } catch (const InputError& error) {
      throw InputError{error.where(), error.problems().front().message + chain_of(error)};
    }
  }

  /// Each error is given its chain once, by the include nearest to it.
  std::string chain_of(const InputError& error) {
    return std::exchange(chain_told_, true) ? "" : document_.inclusion_of(error.where().file);
  }

  YamlDocument document_;
  std::vector<std::string> chain_;
  bool chain_told_ = false;
};

YamlDocument YamlDocument::from_file(const fs::path& path) {
  const fs::path file = path.lexically_normal();
  return from_text(configuration_text(file), file.string());
}

YamlDocument YamlDocument::from_text(const std::string& text, const std::string& file_name) {
  YamlLoader loader;
  YamlNode root = loader.tree(text, file_name);
  return loader.document(file_name, std::move(root));
}

YamlNode& YamlDocument::place_of(const std::string& key_path, const SourceLocation& origin) {
  YamlNode* place = &root_;
  for (const std::string& part : split(key_path)) {
    if (part.empty()) {
      const std::string expected =
          origin.line > 0 ? "KEY.KEY, not '" + key_path + "'" : "--set KEY.KEY=VALUE";
      throw InputError{origin, "a key is missing; expected " + expected};
    }
    place = step_into(*place, part, origin);
  }
  return *place;
}

void YamlDocument::set(const std::string& key_path, const std::string& value) {
  const SourceLocation origin{"--set " + key_path};
  YamlNode& place = place_of(key_path, origin);
  place = parse_yaml(value, origin.file, problems_);
  relocate(place, origin);
}

YamlNode YamlDocument::value_of_set(const std::string& key_path, const std::string& value) {
  const SourceLocation origin{"--set " + key_path};
  std::vector<Problem> problems;
  YamlNode node = parse_yaml(value, origin.file, problems);
  if (!problems.empty()) {
    throw InputError{std::move(problems)};
  }
  relocate(node, origin);
  return node;
}

void YamlDocument::set(const std::string& key_path, YamlNode value) {
  YamlNode& place = place_of(key_path, value.at);
  place = std::move(value);
}

std::optional<YamlEntry> YamlDocument::take(const std::string& key) {
  YamlEntry* found = root_.find(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  YamlEntry entry = std::move(*found);
  root_.entries.erase(root_.entries.begin() + (found - root_.entries.data()));
  return entry;
}

std::string YamlDocument::inclusion_of(const std::string& file) const {
  std::string text;
  for (auto link = included_from_.find(file); link != included_from_.end();
       link = included_from_.find(link->second.file)) {
    text += (text.empty() ? " (included from " : ", included from ") + to_string(link->second);
  }
  return text.empty() ? "" : text + ")";
}

}  // namespace lockstep
