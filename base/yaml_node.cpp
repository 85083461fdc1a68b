#include "base/yaml_node.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/suggest.hpp"

namespace lockstep {

const YamlEntry* YamlNode::find(const std::string& key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

YamlEntry* YamlNode::find(const std::string& key) {
  return const_cast<YamlEntry*>(std::as_const(*this).find(key));
}

YamlNode yaml_node(YamlNode::Kind kind, SourceLocation at, std::string scalar) {
  YamlNode node;
  node.kind = kind;
  node.at = std::move(at);
  node.scalar = std::move(scalar);
  return node;
}

std::string in_words(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "nothing";
    case YamlNode::Kind::Sequence:
      return "a list";
    case YamlNode::Kind::Mapping:
      return "a mapping";
    case YamlNode::Kind::Scalar:
      break;
  }
  return "'" + shortened(node.scalar) + "'";
}

YamlNode overlaid(YamlNode under, YamlNode over) {
  if (under.kind != YamlNode::Kind::Mapping || over.kind != YamlNode::Kind::Mapping) {
    return over;
  }
  under.at = over.at;
  std::unordered_map<std::string, std::size_t> places;
  for (const YamlEntry& entry : under.entries) {
    places.emplace(entry.key, places.size());
  }
  for (YamlEntry& entry : over.entries) {
    if (const auto found = places.find(entry.key); found != places.end()) {
      YamlEntry& same = under.entries[found->second];
      same.at = entry.at;
      same.value = overlaid(std::move(same.value), std::move(entry.value));
    } else {
      under.entries.push_back(std::move(entry));
    }
  }
  return under;
}

}  // namespace lockstep
