#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "app/plans/plan_question.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct SizeOptions : PlanQuestion {
  std::vector<int> nics;         ///< plugged in on each node; empty: as the scenario has it
  std::optional<double> tokens;  ///< of the training
  std::optional<double> most_days;
  std::optional<double> price;  ///< for a GPU and hour; none: the scenario's
};

/// Searches the fastest plan on each number of GPUs, and prints which of them trains the tokens in time for
/// the least money. Writes a plan of each size, size.json, size.svg and a report.
/// @return exit code; 4 where no plan fits on any size
/// @throws InputError, std::invalid_argument
int size_command(const SizeOptions& options);

/// Registers `lockstep size`; when it was called, @p action runs it.
void add_size_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
