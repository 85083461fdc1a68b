#include "base/effective.hpp"

#include <algorithm>
#include <map>

#include "base/provenance.hpp"
#include "base/reading.hpp"
#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

using Kind = ParameterType::Kind;

constexpr const char* kDefault = "default";

void mark_as_default(YamlNode& node) {
  node.at = {kDefault};
  for (YamlNode& item : node.items) {
    mark_as_default(item);
  }
  for (YamlEntry& entry : node.entries) {
    mark_as_default(entry.value);
  }
}

class Completion {
 public:
  explicit Completion(const ConfigPath& configs) : reading_{configs} {}

  YamlNode of(const ParameterType& type, const YamlNode& node) {
    YamlNode whole = node;
    if (node.kind == YamlNode::Kind::Null) {
      return whole;
    }
    if (type.long_form != nullptr) {
      if (const auto mapping = in_long_form(node, type.long_form, reading_.configs())) {
        return of_mapping(type, *mapping);
      }
    }
    if (type.kind == Kind::Mapping && !type.config_kind.empty()) {
      reading_.named(type.config_kind, node, [&](const YamlNode& found, const std::string& /*name*/) {
        whole = of_mapping(type, found);
        whole.at = node.at;
      });
    } else if (type.kind == Kind::Mapping && node.kind == YamlNode::Kind::Mapping) {
      whole = of_mapping(type, node);
    } else if (type.kind == Kind::List) {
      for (YamlNode& item : whole.items) {
        item = of(type.element.front(), item);
      }
    } else if (type.kind == Kind::Table) {
      for (YamlEntry& entry : whole.entries) {
        entry.value = of(type.element.front(), entry.value);
      }
    }
    return whole;
  }

  void finish() { reading_.finish(); }

 private:
  YamlNode of_mapping(const ParameterType& type, const YamlNode& node) {
    YamlNode whole = yaml_node(YamlNode::Kind::Mapping, node.at);
    for (const Parameter& parameter : type.parameters) {
      if (const YamlEntry* given = node.find(parameter.key)) {
        whole.entries.push_back({parameter.key, given->at, of(parameter.type, given->value)});
      } else {
        YamlNode fallback = parameter.fallback;
        mark_as_default(fallback);
        whole.entries.push_back({parameter.key, {}, std::move(fallback)});
      }
    }
    return whole;
  }

  Reading reading_;
};

/// Remarks by the provenance of a Spec (base/provenance.hpp) on each value below it.
class Remarks {
 public:
  explicit Remarks(const YamlNode& root) { of_mapping(root); }

  /// `, measured`; "" where nothing is said.
  [[nodiscard]] std::string of(const YamlNode& node) const {
    const auto found = words_.find(&node);
    return found == words_.end() ? "" : ", " + found->second;
  }

 private:
  void of_mapping(const YamlNode& node) {
    if (const YamlEntry* entry = node.find("provenance"); entry != nullptr) {
      below(node, entry->value, "");
    }
    for (const YamlEntry& entry : node.entries) {
      of_mapping(entry.value);
    }
  }

  void below(const YamlNode& node, const YamlNode& table, const std::string& path) {
    for (const YamlEntry& entry : node.entries) {
      const std::string key_path = path.empty() ? entry.key : path + "." + entry.key;
      const std::string word = word_for(table, key_path);
      const bool speaks_for_itself = entry.value.kind == YamlNode::Kind::Mapping &&
                                     entry.value.find("provenance") != nullptr &&
                                     rank_of(word) <= rank_of("fitted");
      if (entry.key == "provenance" || speaks_for_itself) {
        continue;  // of a set that was made for this one, its own counts
      }
      if (entry.value.kind == YamlNode::Kind::Mapping) {
        below(entry.value, table, key_path);
      } else if (!word.empty()) {
        std::string& worst = words_[&entry.value];
        worst = rank_of(word) > rank_of(worst) ? word : worst;
      }
    }
  }

  /// Behind all others: worse. 0 for no word.
  static std::size_t rank_of(const std::string& word) {
    const std::vector<std::string> words = all_names_of<Provenance>();
    const auto found = std::ranges::find(words, word);
    return found == words.end() ? 0 : static_cast<std::size_t>(found - words.begin()) + 1;
  }

  static std::string word_for(const YamlNode& table, std::string key_path) {
    for (std::size_t end = key_path.size(); end != std::string::npos; end = key_path.rfind('.')) {
      key_path.resize(end);
      if (const YamlEntry* evidence = table.find(key_path); evidence != nullptr) {
        const YamlEntry* is = evidence->value.find("is");
        return is != nullptr ? is->value.scalar
                             : evidence->value.scalar.substr(0, evidence->value.scalar.find(','));
      }
    }
    return {};
  }

  std::map<const YamlNode*, std::string> words_;
};

}  // namespace

YamlNode effective_tree(const ParameterType& type, const YamlDocument& document, const ConfigPath& configs) {
  Completion completion{configs};
  YamlNode whole = completion.of(type, document.root());
  completion.finish();
  return whole;
}

std::string effective_values(const ParameterType& type, const YamlDocument& document,
                             const ConfigPath& configs) {
  return flow_text(effective_tree(type, document, configs));
}

std::string effective_text(const ParameterType& type, const YamlDocument& document,
                           const ConfigPath& configs) {
  const YamlNode whole = effective_tree(type, document, configs);
  const Remarks remarks{whole};
  return block_text(whole, [&](const YamlNode& node) {
    const std::string file = configs.shown(node.at.file);
    const bool is_set = file.starts_with("--set");  // no file speaks for it
    return (node.at.line > 0 ? file + ":" + std::to_string(node.at.line) : file) +
           (is_set ? "" : remarks.of(node));
  });
}

}  // namespace lockstep
