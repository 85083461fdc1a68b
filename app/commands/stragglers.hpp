#pragma once

#include <functional>
#include <string>

#include "app/answer.hpp"

namespace CLI {
class App;
}

namespace lockstep {

/// Replays the timeline of a pipeline-parallel job with what is typical in place of what was recorded, and
/// prints what stragglers cost, by stage, data rank and type of operation (docs/stragglers.md).
/// @throws InputError
int stragglers_command(const std::string& timeline, const AnswerOptions& answer);

/// Registers `lockstep stragglers`; when it was called, @p action runs it.
void add_stragglers_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
