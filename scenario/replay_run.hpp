#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "scenario/recorded_machine.hpp"
#include "scenario/replay_spec.hpp"
#include "traces/replay/comparison.hpp"
#include "traces/replay/predicted_kernels.hpp"
#include "traces/replay/rebucket.hpp"
#include "traces/replay/resimulate.hpp"

namespace lockstep {

/// A replay on its machine, ready to be simulated with and without changes.
class ReplayRun {
 public:
  /// @throws InputError for traces or a specification that cannot be replayed
  ReplayRun(const std::vector<std::string>& traces, const YamlDocument& document, const ConfigPath& configs);

  struct Result {
    SimulationResult simulation;
    std::vector<replay::RankComparison> ranks;       ///< by trace
    std::string remark;                              ///< what a change came to; empty: nothing to say
    std::shared_ptr<const RecordedMachine> machine;  ///< that it took place on
  };
  /// Makes who listens besides to the simulation of a job on a machine; null: nobody does.
  using OpenSink = std::function<TimelineSink*(const Job&, const Fabric&)>;
  /// @param change null: as recorded
  /// @param engine as RecordedMachine::simulate() has it
  [[nodiscard]] Result simulate(const replay::WhatIfSpec* change, const OpenSink& open_timeline = {},
                                EngineMode engine = EngineMode::Bare) const;

  [[nodiscard]] const ReplaySpec& spec() const { return spec_; }
  [[nodiscard]] const replay::Replay& replay() const { return replay_; }
  [[nodiscard]] const KernelFamilies& families() const { return families_; }
  [[nodiscard]] const Fabric& fabric() const { return machine_->fabric(); }
  [[nodiscard]] std::shared_ptr<const RecordedMachine> machine() const { return machine_; }
  /// Comparisons of transfers on a given cluster.
  [[nodiscard]] const std::vector<replay::TransferComparison>& transfers() const { return transfers_; }
  /// On a given GPU; null: there is none, kernels take what they took.
  [[nodiscard]] const replay::KernelComparison* kernels() const { return kernels_ ? &*kernels_ : nullptr; }

 private:
  void expect_known_families(const YamlDocument& document) const;
  void place(const SourceLocation& at);

  /// The replay's machine, or the one that a change names. @throws InputError where it cannot be
  [[nodiscard]] std::shared_ptr<const RecordedMachine> machine_for(const replay::WhatIfSpec& change) const;
  /// Puts a job on another machine than the replay's; adds to the remark what that assumes.
  void move(Job& job, const RecordedMachine& machine, std::string& remark) const;

  [[nodiscard]] Job changed(const Job& job, const replay::WhatIfSpec& change) const;
  [[nodiscard]] replay::Rebucketed with_buckets(const replay::BucketEdit& edit) const;

  ReplaySpec spec_;
  KernelFamilies families_;
  SourceLocation at_;  // what the traces do not allow is told there
  ConfigPath configs_;
  replay::Replay replay_;
  std::shared_ptr<const RecordedMachine> machine_;
  std::vector<replay::TransferComparison> transfers_;
  std::optional<replay::KernelComparison> kernels_;
};

}  // namespace lockstep
