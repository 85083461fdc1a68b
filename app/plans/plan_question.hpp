#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// The question that every search of plans answers.
struct PlanQuestion {
  std::string scenario;             ///< name of a shipped one, file or folder
  std::string folder;               ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;  ///< of the scenario
  std::vector<std::string> only;    ///< `tensor=4,8`: choices of a searched key
  std::vector<int> gpus;            ///< numbers of GPUs; empty: as the command says
  std::optional<std::chrono::duration<double>> budget;
  std::size_t jobs = 1;
  std::string json;  ///< `-`: to stdout instead of the text
  bool quiet = false;
};

/// Parts of a PlanQuestion that the command line gives as text.
struct PlanWords {
  std::vector<std::string> assignments;
  std::string budget;
  std::size_t jobs = 0;
};

/// Declares the options of a PlanQuestion.
void add_plan_question(CLI::App& command, PlanQuestion& question, PlanWords& words);

/// Reads the words. @throws std::invalid_argument
void complete(PlanQuestion& question, const PlanWords& words);

/// Writes JSON where the question says.
void give_json(const PlanQuestion& question, const std::string& json);

}  // namespace lockstep
