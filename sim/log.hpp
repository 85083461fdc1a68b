#pragma once

/// @file
/// Logs of the program's own work, on stderr: one logger a component, each with a level of its own.

#include <spdlog/logger.h>

#include <cstdint>
#include <string>

namespace lockstep {

/// A folder that logs.
enum class LogComponent : std::uint8_t { Sim, Traces, Scenario, Search, App };

/// The logger of @p component; it says warnings and errors until told otherwise.
[[nodiscard]] spdlog::logger& log_of(LogComponent component);

/// Sets the level of every component that set_log_level() was not called for.
void set_usual_log_level(spdlog::level::level_enum level);

/// Sets the level of a component (`sim=debug`), or of all (`debug`).
/// @throws std::invalid_argument naming the components or levels there are
void set_log_level(const std::string& setting);

}  // namespace lockstep
