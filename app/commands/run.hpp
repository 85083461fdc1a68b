#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct RunOptions {
  std::string scenario;  ///< name of a shipped one, file or folder
  std::string folder;    ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;
  std::string json;            ///< `-`: metrics to stdout instead of the answer
  std::string timeline_ranks;  ///< as parse_ranks() reads them; empty: see run_command()
  std::string timeline;        ///< name of its file, whose ending says the format; empty: see run_command()
  std::uint64_t timeline_events = 0;  ///< most of the timeline; 0: kTimelineEvents, of ranks not asked for
  std::size_t timeline_links = 16;    ///< busiest links in the timeline
  std::vector<std::string> tracing;   ///< settings of SimGrid's tracing, KEY:VALUE
  bool no_timeline = false;
  bool timeline_per_rank = false;
  bool hta_names = false;
  bool sensitivity = false;
  bool quiet = false;
  bool verbose = false;
};

/// Predicts one scenario: prints the answer, writes timeline.json.gz, metrics.json and effective.yaml.
/// The timeline is of all ranks where they are few, or none are alike; else of one for each class of alike
/// ranks, unless others are asked for.
/// @throws InputError, StallError
int run_command(const RunOptions& options);

/// Names of what `run` writes into its folder.
[[nodiscard]] bool is_of_run(const std::string& name);

/// Registers `lockstep run`; when it was called, @p action runs it.
void add_run_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
