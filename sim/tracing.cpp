#include "sim/tracing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/suggest.hpp"
#include "sim/simgrid_compat.hpp"

namespace lockstep {
namespace {

enum class ValueKind : std::uint8_t { Switch, Digits, Text };

/// Keys of SimGrid's configuration that change what a trace has, and never the answer.
constexpr std::array<std::pair<std::string_view, ValueKind>, 10> kTracingKeys{{
    {"tracing", ValueKind::Switch},
    {"tracing/actor", ValueKind::Switch},
    {"tracing/basic", ValueKind::Switch},
    {"tracing/comment", ValueKind::Text},
    {"tracing/disable_link", ValueKind::Switch},
    {"tracing/disable_power", ValueKind::Switch},
    {"tracing/filename", ValueKind::Text},
    {"tracing/platform", ValueKind::Switch},
    {"tracing/precision", ValueKind::Digits},
    {"tracing/uncategorized", ValueKind::Switch},
}};
constexpr const char* kLoad = "bandwidth_used";  // SimGrid's own name of it

/// `KEY` and `VALUE`; a setting without a colon has no value.
std::pair<std::string, std::string> split(const std::string& setting) {
  const std::size_t colon = setting.find(':');
  return colon == std::string::npos ? std::pair{setting, std::string{}}
                                    : std::pair{setting.substr(0, colon), setting.substr(colon + 1)};
}

bool is_on(const std::string& value) {
  return value == "yes" || value == "on" || value == "true" || value == "1";
}

bool is_off(const std::string& value) {
  return value == "no" || value == "off" || value == "false" || value == "0";
}

/// Empty: it fits.
std::string_view wanted_instead(ValueKind kind, const std::string& value) {
  switch (kind) {
    case ValueKind::Switch:
      return is_on(value) || is_off(value) ? "" : "yes or no";
    case ValueKind::Digits:
      return value.size() == 1 && value[0] >= '0' && value[0] <= '9' ? "" : "a number of digits, 0 to 9";
    case ValueKind::Text:
      return value.empty() ? "a text" : "";
  }
  return {};
}

/// The last value that @p settings give @p key.
std::string value_of(std::span<const std::string> settings, std::string_view key, std::string value) {
  for (const std::string& setting : settings) {
    if (auto [name, given] = split(setting); name == key) {
      value = std::move(given);
    }
  }
  return value;
}

}  // namespace

void check_tracing_setting(const std::string& setting) {
  const auto [key, value] = split(setting);
  const auto* known = std::ranges::find(kTracingKeys, key, &std::pair<std::string_view, ValueKind>::first);
  if (known == kTracingKeys.end()) {
    std::vector<std::string> names;
    for (const auto& [name, kind] : kTracingKeys) {
      names.emplace_back(name);
    }
    throw std::invalid_argument{
        fmt::format("'{}' is no key of SimGrid's tracing{}", shortened(key), did_you_mean(key, names))};
  }
  if (const std::string_view wanted = wanted_instead(known->second, value); !wanted.empty()) {
    throw std::invalid_argument{fmt::format("{} takes {}, e.g. {}:{}", key, wanted, key,
                                            known->second == ValueKind::Switch   ? "yes"
                                            : known->second == ValueKind::Digits ? "9"
                                                                                 : "trace.paje")};
  }
}

bool asks_for_tracing(std::span<const std::string> settings) {
  return is_on(value_of(settings, "tracing", "no"));
}

std::string traced_file(std::span<const std::string> settings) {
  return value_of(settings, "tracing/filename", "simgrid.trace");
}

std::vector<std::string> with_fine_dates(std::span<const std::string> settings) {
  std::vector<std::string> all;
  if (asks_for_tracing(settings)) {
    all.emplace_back("tracing/precision:9");
  }
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

LinkLoadTrace::LinkLoadTrace(const Fabric& fabric) : fabric_{fabric}, loads_(fabric.links().size(), 0.0) {
  simgrid::instr::declare_link_variable(kLoad, "0.5 0.5 0.5");
}

void LinkLoadTrace::add(LinkId link, double more, double date) {
  constexpr double kRounding = 1e-9;  // what is left of rates that were added and taken away
  const Link& loaded = fabric_.links()[link];
  double& load = loads_[link];
  load += more;
  if (std::abs(load) < kRounding * loaded.bandwidth.in_base_units()) {
    load = 0;
  }
  simgrid::instr::set_link_variable(fabric_.name_of(link), kLoad, load, date);
}

}  // namespace lockstep
