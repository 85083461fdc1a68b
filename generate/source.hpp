#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "generate/benchmark.hpp"
#include "generate/program_files.hpp"
#include "scenario/overrides.hpp"
#include "scenario/recorded_machine.hpp"
#include "scenario/resolved_scenario.hpp"
#include "sim/simulation.hpp"

namespace lockstep::generate {

/// The machine that a benchmark is simulated on: a scenario's, or that of a recording.
class Machine {
 public:
  explicit Machine(ResolvedScenario scenario) : machine_{std::move(scenario)} {}
  explicit Machine(std::shared_ptr<const RecordedMachine> recorded) : machine_{std::move(recorded)} {}

  /// @p job on its GPUs; those of a job that was read from a table are given by place().
  /// @throws StallError
  [[nodiscard]] SimulationResult simulate(const Job& job, TimelineSink* timeline = nullptr) const;

  [[nodiscard]] const Fabric& fabric() const;

 private:
  std::variant<ResolvedScenario, std::shared_ptr<const RecordedMachine>> machine_;
};

/// A benchmark and the machine of the scenario or traces it was made from.
struct Source {
  Benchmark benchmark;
  std::shared_ptr<const Machine> machine;
  ProgramFile machine_file;  ///< what read_machine() makes the machine from again
};

struct SourceOptions {
  std::vector<std::string> sources;  ///< a scenario, or traces
  std::vector<Override> overrides;   ///< `--set`
  Target target = Target::Cuda;
  std::string precision{};  ///< of a scenario, in place of workload.precision; empty: as it says
  double batch_scale = 1;   ///< of a scenario: its workload.global_batch is so many times as large
};

/// @throws InputError for what is no scenario and no traces, or cannot be simulated
[[nodiscard]] Source open_source(const SourceOptions& options);

/// A program's job on the machine that lies beside its table.
struct PlacedJob {
  Job job;
  std::shared_ptr<const Machine> machine;
};

/// @throws InputError for a folder without a machine, or a job that does not fit it
[[nodiscard]] PlacedJob place(Job job, const std::filesystem::path& folder);

}  // namespace lockstep::generate
