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

struct SizeOptions {
  std::string scenario;             ///< name of a shipped one, file or folder
  std::string folder;               ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;  ///< of the scenario
  std::vector<std::string> only;    ///< `tensor=4,8`: choices of a searched key
  std::vector<int> gpus;            ///< sizes; empty: the scenario's, twice and four times as many
  std::vector<int> nics;            ///< plugged in on each node; empty: as the scenario has it
  std::optional<double> tokens;     ///< of the training
  std::optional<double> most_days;
  std::optional<double> price;  ///< for a GPU and hour; none: the scenario's
  std::optional<std::chrono::duration<double>> budget;
  std::size_t jobs = 1;
  std::string json;  ///< `-`: to stdout instead of the text
  bool quiet = false;
};

/// Searches the fastest plan on each number of GPUs, and prints which of them trains the tokens in time for
/// the least money. Writes a plan of each size, size.json, size.svg and a report.
/// @return exit code; 4 where no plan fits on any size
/// @throws InputError, std::invalid_argument
int size_command(const SizeOptions& options);

/// Registers `lockstep size`; when it was called, @p action runs it.
void add_size_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
