#include "sim/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/suggest.hpp"

namespace lockstep {
namespace {

using Level = spdlog::level::level_enum;

constexpr std::array<std::string_view, 5> kComponents{"sim", "traces", "scenario", "search", "app"};
constexpr std::array<std::pair<std::string_view, Level>, 6> kLevels{{{"trace", Level::trace},
                                                                     {"debug", Level::debug},
                                                                     {"info", Level::info},
                                                                     {"warning", Level::warn},
                                                                     {"error", Level::err},
                                                                     {"off", Level::off}}};

struct ComponentLog {
  std::unique_ptr<spdlog::logger> logger;
  bool is_set = false;  // by the user
};

std::array<ComponentLog, kComponents.size()> made_logs() {
  const auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();  // stdout is for results
  sink->set_pattern("%^%l%$: %v");
  const auto named_sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  named_sink->set_pattern("%^%l%$: %n: %v");
  if (const char* none = std::getenv("NO_COLOR"); none != nullptr && *none != '\0') {  // no-color.org
    sink->set_color_mode(spdlog::color_mode::never);
    named_sink->set_color_mode(spdlog::color_mode::never);
  }
  std::array<ComponentLog, kComponents.size()> logs;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const bool is_app = static_cast<LogComponent>(i) == LogComponent::App;
    logs[i].logger =
        std::make_unique<spdlog::logger>(std::string{kComponents[i]}, is_app ? sink : named_sink);
    logs[i].logger->set_level(Level::warn);
  }
  return logs;
}

std::array<ComponentLog, kComponents.size()>& component_logs() {
  static std::array<ComponentLog, kComponents.size()> made = made_logs();
  return made;
}

Level level_named(const std::string& name) {
  const auto* known = std::ranges::find(kLevels, name, &std::pair<std::string_view, Level>::first);
  if (known == kLevels.end()) {
    std::vector<std::string> names;
    for (const auto& [other, level] : kLevels) {
      names.emplace_back(other);
    }
    throw std::invalid_argument{
        fmt::format("there is no level '{}'{}", shortened(name), did_you_mean(name, names))};
  }
  return known->second;
}

std::size_t place_of(const std::string& component) {
  const auto* known = std::ranges::find(kComponents, component);
  if (known == kComponents.end()) {
    throw std::invalid_argument{
        fmt::format("there is no component '{}'{}", shortened(component),
                    did_you_mean(component, {kComponents.begin(), kComponents.end()}))};
  }
  return static_cast<std::size_t>(known - kComponents.begin());
}

}  // namespace

spdlog::logger& log_of(LogComponent component) {
  return *component_logs().at(static_cast<std::size_t>(component)).logger;
}

void set_usual_log_level(Level level) {
  for (ComponentLog& log : component_logs()) {
    if (!log.is_set) {
      log.logger->set_level(level);
    }
  }
}

void set_log_level(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const Level level = level_named(equals == std::string::npos ? setting : setting.substr(equals + 1));
  for (std::size_t i = 0; i < kComponents.size(); ++i) {
    if (equals == std::string::npos || i == place_of(setting.substr(0, equals))) {
      component_logs()[i].logger->set_level(level);
      component_logs()[i].is_set = true;
    }
  }
}

}  // namespace lockstep
