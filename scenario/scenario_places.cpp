#include "scenario/scenario_places.hpp"

#include <algorithm>
#include <sstream>

#include "base/yaml_node.hpp"

namespace lockstep {
namespace {

/// A key of the scenario, or the nearest mapping around it that the file has.
const YamlNode& node_at(const YamlDocument& document, const std::string& key_path) {
  const YamlNode* node = &document.root();
  std::stringstream keys{key_path};
  for (std::string key; std::getline(keys, key, '.');) {
    const auto entry = std::ranges::find(node->entries, key, &YamlEntry::key);
    if (entry == node->entries.end()) {
      break;
    }
    node = &entry->value;
  }
  return *node;
}

}  // namespace

SourceLocation location_of(const YamlDocument& document, const std::string& key_path) {
  return node_at(document, key_path).at;
}

}  // namespace lockstep
