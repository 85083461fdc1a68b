#include "base/yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/suggest.hpp"

namespace lockstep {
namespace {

std::string prefixed(const std::string& key, const std::string& message) {
  return key.empty() ? message : key + ": " + message;
}

const char* expected(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::Mapping:
      return "a mapping (key: value)";
    case YamlNode::Kind::Sequence:
      return "a list, e.g. [a, b]";
    case YamlNode::Kind::Scalar:
      return "one value";
    case YamlNode::Kind::Null:
      break;
  }
  return "nothing";
}

/// The value at `a.2.b` under @p node, or the innermost one on the way that exists.
const YamlNode& value_at(const YamlNode& node, const std::string& path) {
  if (const YamlEntry* entry = node.find(path)) {
    return entry->value;
  }
  const std::size_t dot = path.find('.');
  const std::string first = path.substr(0, dot);
  const YamlNode* next = nullptr;
  if (const YamlEntry* entry = node.find(first)) {
    next = &entry->value;
  }
  for (std::size_t i = 0; i < node.items.size() && next == nullptr; ++i) {
    next = std::to_string(i) == first ? &node.items[i] : nullptr;
  }
  if (next == nullptr || dot == std::string::npos) {
    return next == nullptr ? node : *next;
  }
  return value_at(*next, path.substr(dot + 1));
}

}  // namespace

const YamlNode* MappingReader::take(const char* key) {
  known_.emplace_back(key);
  const YamlEntry* entry = mapping_.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void MappingReader::missing(const char* key, const char* meaning) const {
  reading_.complain(mapping_.at, std::string{"missing key '"} + key + "' (" + meaning + ")");
}

namespace {

/// Words of earlier versions and those that have taken their place.
using Renamed = std::pair<std::string_view, const char*>;
constexpr std::array<Renamed, 1> kRenamedKeys{{{"shard_copies", "zero3_implementation"}}};
constexpr std::array<Renamed, 1> kRenamedValues{{{"stepped", "run_ahead"}}};

/// The end of the message about an unknown word: its new name, or a known word like it.
std::string instead_of(std::span<const Renamed> renamed, const std::string& word,
                       const std::vector<std::string>& known) {
  const auto entry = std::ranges::find(renamed, word, &Renamed::first);
  if (entry != renamed.end() && std::ranges::find(known, entry->second) != known.end()) {
    return fmt::format(": renamed to '{}'", entry->second);
  }
  return did_you_mean(word, known);
}

/// The end of the message about an unknown key, which may be one of another mapping.
std::string instead_of_key(const std::string& key, const std::vector<std::string>& known,
                           const Reading& reading) {
  const bool is_renamed = std::ranges::find(kRenamedKeys, key, &Renamed::first) != kRenamedKeys.end();
  if (!is_renamed && closest_word(key, known).empty()) {
    if (const std::string place = reading.place_hint(key); !place.empty()) {
      return place;
    }
  }
  return instead_of(kRenamedKeys, key, known);
}

}  // namespace

void MappingReader::reject_strangers() const {
  constexpr std::size_t kMostSuggested = 20;  // no more are told
  std::size_t strangers = 0;
  for (const YamlEntry& entry : mapping_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) == known_.end()) {
      reading_.complain(
          entry.at, "unknown key '" + shortened(entry.key) + "'" +
                        (++strangers <= kMostSuggested ? instead_of_key(entry.key, known_, reading_) : ""));
    }
  }
}

namespace reader_detail {

bool expect(YamlNode::Kind kind, const YamlNode& node, const std::string& key, Reading& reading) {
  if (node.kind == kind) {
    return true;
  }
  complain_of_value(node, key, std::string{"expected "} + expected(kind) + ", not " + in_words(node),
                    reading);
  return false;
}

void complain_of_choice(const YamlNode& node, const std::string& key, const std::vector<std::string>& names,
                        Reading& reading) {
  complain_of_value(
      node, key,
      "there is no '" + shortened(node.scalar) + "'" + instead_of(kRenamedValues, node.scalar, names),
      reading);
}

void complain_of_check(const YamlNode& mapping, const std::invalid_argument& problem, Reading& reading) {
  const auto* at_field = dynamic_cast<const FieldError*>(&problem);
  const std::string key = at_field == nullptr ? "" : at_field->key();
  complain_of_value(value_at(mapping, key), key, problem.what(), reading);
}

void complain_of_value(const YamlNode& node, const std::string& key, const std::string& what,
                       Reading& reading) {
  reading.complain(node.at, prefixed(key, what));
}

}  // namespace reader_detail
}  // namespace lockstep
