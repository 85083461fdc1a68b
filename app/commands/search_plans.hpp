#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct SearchPlansOptions {
  std::string scenario;             ///< name of a shipped one, file or folder
  std::string folder;               ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;  ///< of the scenario
  std::vector<std::string> only;    ///< `tensor=4,8`: choices of a searched key
  std::vector<int> gpus;            ///< numbers of GPUs to plan for; empty: the scenario's
  std::optional<std::chrono::duration<double>> budget;
  std::size_t keep = 5;
  std::size_t jobs = 1;
  std::string json;  ///< `-`: to stdout instead of the text
  std::string emit;  ///< framework whose launch flags are written; empty: none
  bool quiet = false;
};

/// Searches the parallel plans of a transformer's scenario: prints the best and the Pareto front, writes each
/// of the best as a scenario (plan_1.yaml, ...), plans.json and plans.svg. After Ctrl-C the best so far, then
/// the process ends by the signal.
/// @return exit code; 4 where no plan fits
/// @throws InputError, std::invalid_argument
int search_plans_command(const SearchPlansOptions& options);

/// Registers `lockstep plan`; when it was called, @p action runs it.
void add_plan_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
