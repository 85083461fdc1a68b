#include "import/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/yaml_text.hpp"

namespace lockstep::importing {
namespace {

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void flatten(const YamlNode& node, const std::string& prefix, Settings& settings) {
  for (const YamlEntry& entry : node.entries) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.value.kind == YamlNode::Kind::Mapping) {
      flatten(entry.value, key, settings);
      continue;
    }
    YamlNode value = entry.value;
    value.at = entry.at;
    settings.add({key, key, std::move(value)});
  }
}

}  // namespace

bool turns_on(const YamlNode& value) {
  constexpr std::array<std::string_view, 7> kOff{"", "false", "no", "none", "0", "null", "off"};
  return value.kind != YamlNode::Kind::Null &&
         !(value.kind == YamlNode::Kind::Scalar &&
           std::ranges::count(kOff, in_small_letters(value.scalar)) > 0) &&
         !(value.kind == YamlNode::Kind::Sequence && value.items.empty());
}

Source source_of(const Setting& setting) {
  return {setting.value.at, setting.shown};
}

std::int64_t whole_number_of(const Setting& setting) {
  constexpr double kMost = 1e12;
  std::string text = setting.value.scalar;
  std::erase(text, '_');  // 1_000 of TOML and Python
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number != std::floor(number) ||
      std::abs(number) > kMost) {
    if (setting.value.scalar.starts_with('$')) {
      throw InputError{setting.value.at,
                       fmt::format("{}: the script does not set {}: write its value there, or set it before",
                                   setting.shown, setting.value.scalar)};
    }
    throw InputError{setting.value.at, fmt::format("{}: {} is not a whole number: expected digits, e.g. 4096",
                                                   setting.shown, flow_text(setting.value))};
  }
  return static_cast<std::int64_t>(number);
}

Settings Settings::of_tree(const YamlNode& root) {
  Settings settings;
  flatten(root, "", settings);
  return settings;
}

void Settings::add(Setting setting) {
  std::erase_if(settings_, [&](const Setting& before) { return before.key == setting.key; });
  settings_.push_back(std::move(setting));
}

const Setting* Settings::use(std::string_view key) {
  const auto found = std::ranges::find(settings_, key, &Setting::key);
  if (found == settings_.end()) {
    return nullptr;
  }
  used_.emplace(key);
  return &*found;
}

bool Settings::is_on(std::string_view key) {
  const Setting* setting = use(key);
  return setting != nullptr && turns_on(setting->value);
}

std::optional<std::int64_t> Settings::whole_number(std::string_view key) {
  const Setting* setting = use(key);
  if (setting == nullptr || setting->value.kind == YamlNode::Kind::Null) {
    return std::nullopt;
  }
  return whole_number_of(*setting);
}

std::string Settings::text(std::string_view key) {
  const Setting* setting = use(key);
  return setting == nullptr ? "" : setting->value.scalar;
}

void Settings::forget(std::string_view key) {
  if (const auto found = used_.find(key); found != used_.end()) {
    used_.erase(found);
  }
}

std::vector<const Setting*> Settings::unused() const {
  std::vector<const Setting*> rest;
  for (const Setting& setting : settings_) {
    if (!used_.contains(setting.key)) {
      rest.push_back(&setting);
    }
  }
  return rest;
}

}  // namespace lockstep::importing
