#include "base/effective.hpp"

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

YamlNode completed(const ParameterType& type, const YamlDocument& document, const ConfigPath& configs) {
  Completion completion{configs};
  YamlNode whole = completion.of(type, document.root());
  completion.finish();
  return whole;
}

}  // namespace

std::string effective_values(const ParameterType& type, const YamlDocument& document,
                             const ConfigPath& configs) {
  return flow_text(completed(type, document, configs));
}

std::string effective_text(const ParameterType& type, const YamlDocument& document,
                           const ConfigPath& configs) {
  return block_text(completed(type, document, configs), [&](const YamlNode& node) {
    const std::string file = configs.shown(node.at.file);
    return node.at.line > 0 ? file + ":" + std::to_string(node.at.line) : file;
  });
}

}  // namespace lockstep
