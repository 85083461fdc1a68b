#pragma once

#include <functional>

namespace lockstep {

/// Runs a command. Where it refuses a file that `lockstep import` makes a scenario of, such as a model's
/// config.json, the message names that command in place of the file's keys.
/// @throws what @p action throws; InputError with the command
[[nodiscard]] int naming_import(const std::function<int()>& action);

}  // namespace lockstep
