#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct GenerateOptions {
  std::vector<std::string> sources;  ///< a scenario, or traces
  std::vector<Override> overrides;   ///< `--set`
  std::string folder;                ///< empty: as result_folder() says
  std::string target = "cuda";
  std::string fill = "busy";
  std::string host = "recorded";
  std::vector<std::string> only, families, without;
  std::string range, stream;
  std::uint32_t ranks = 0;           ///< 0: all of the job
  std::string precision;             ///< empty: as the source says
  std::string scale;                 ///< `batch=0.5`; empty: as the source says
  std::vector<std::string> repeats;  ///< how often, and part of a range's name
  std::string beside;                ///< folder of another program that runs beside this one
  std::vector<std::string> refine;   ///< what earlier programs of the same source measured, the first first
  bool obfuscates = false;
  int steps = 20;
  std::uint32_t seed = 1;
  std::string check;     ///< folder of a program that is simulated; empty: one is generated
  std::string timeline;  ///< with check: file for the simulated timeline; empty: none
  std::string score;     ///< folder of a program that was run; empty: likewise
  std::string measured;  ///< with score: file or folder of what was measured; empty: the program's folder
};

/// Writes a program that behaves like a scenario or recorded traces, or simulates one that was written.
/// @throws InputError
int generate_command(const GenerateOptions& options);

/// Registers `lockstep generate`; when it was called, @p action runs it.
void add_generate_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
