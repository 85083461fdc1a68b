#pragma once

#include <memory>
#include <optional>

#include "base/config_path.hpp"
#include "base/error.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "scenario/replay_spec.hpp"
#include "sim/simulation.hpp"

namespace lockstep {

/// The machine that a recorded job takes place on again: the given cluster, or GPUs on a switch of which
/// nothing takes part, where collectives take what was recorded.
class RecordedMachine {
 public:
  /// @param at what does not fit is told there
  /// @throws InputError for more ranks than GPUs, or a cluster that cannot be simulated
  RecordedMachine(const ReplaySpec& spec, std::size_t ranks, const ConfigPath& configs,
                  const SourceLocation& at);
  ~RecordedMachine();

  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;

  /// Every rank on its GPU.
  /// @param host_factor on all host times
  /// @param engine RunAhead: on a SimGrid platform of the whole machine, which a process makes for one
  ///   RecordedMachine; Bare: without SimGrid
  [[nodiscard]] SimulationResult simulate(const Job& job, double host_factor, TimelineSink* timeline,
                                          EngineMode engine = EngineMode::Bare) const;

  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  /// Null: without a cluster.
  [[nodiscard]] const CollectivePlanner* planner() const { return planner_ ? &*planner_ : nullptr; }

 private:
  void use_cluster(const ReplaySpec& spec, std::size_t ranks, const ConfigPath& configs);

  Fabric fabric_;
  std::optional<CollectivePlanner> planner_;
  mutable std::unique_ptr<Machine> platform_;  // SimGrid's, made when it is first needed
};

}  // namespace lockstep
