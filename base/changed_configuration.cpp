#include "base/changed_configuration.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/provenance.hpp"

namespace lockstep {
namespace {

constexpr const char* kProvenance = "provenance";

bool is_number(const YamlNode& node) {
  const std::string& text = node.scalar;
  const std::size_t first = text.find_first_not_of("+-.");
  return node.kind == YamlNode::Kind::Scalar && first != std::string::npos &&
         std::isdigit(static_cast<unsigned char>(text[first])) != 0;
}

/// True where a table says something of the parameter or of a mapping that holds it.
bool speaks_of(const YamlNode* table, std::string key_path) {
  while (table != nullptr && !key_path.empty()) {
    if (table->find(key_path) != nullptr) {
      return true;
    }
    const std::size_t dot = key_path.rfind('.');
    key_path.resize(dot == std::string::npos ? 0 : dot);
  }
  return false;
}

const YamlNode* provenance_in(const YamlNode& configuration) {
  const YamlEntry* entry = configuration.find(kProvenance);
  return entry != nullptr && entry->value.kind == YamlNode::Kind::Mapping ? &entry->value : nullptr;
}

/// The numbers of a configuration and of what changes it, by their keys.
class Changes {
 public:
  Changes(const YamlNode& before, const YamlNode& over)
      : before_{provenance_in(before)}, over_{provenance_in(over)} {
    if (before_ != nullptr) {
      collect(before, over, {});
    }
  }

  /// The provenance of the numbers that changed, as it is now.
  [[nodiscard]] YamlNode provenance() const { return said_; }

 private:
  void collect(const YamlNode& before, const YamlNode& over, const std::string& prefix) {
    for (const YamlEntry& entry : over.entries) {
      const YamlEntry* same = before.find(entry.key);
      if (same == nullptr || entry.key == kProvenance) {
        continue;
      }
      const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
      if (entry.value.kind == YamlNode::Kind::Mapping && same->value.kind == YamlNode::Kind::Mapping) {
        collect(same->value, entry.value, key);
      } else if (is_number(entry.value) && entry.value.scalar != same->value.scalar &&
                 speaks_of(before_, key) && !speaks_of(over_, key)) {
        const SourceLocation& at = entry.value.at;
        said_.entries.push_back(
            {key, at,
             yaml_node(YamlNode::Kind::Scalar, at, fmt::format("guessed, {}{}", kSetAnew, to_string(at)))});
      }
    }
  }

  const YamlNode* before_;
  const YamlNode* over_;
  YamlNode said_ = yaml_node(YamlNode::Kind::Mapping, {});
};

}  // namespace

YamlNode changed_configuration(YamlNode configuration, YamlNode over) {
  YamlNode said = Changes{configuration, over}.provenance();
  YamlNode changed = overlaid(std::move(configuration), std::move(over));
  if (!said.entries.empty()) {
    YamlNode& table = changed.find(kProvenance)->value;
    table = overlaid(std::move(table), std::move(said));
  }
  return changed;
}

}  // namespace lockstep
