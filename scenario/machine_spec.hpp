#pragma once

#include "scenario/scenario.hpp"

namespace lockstep {

/// A scenario without what takes place in it: the job comes from elsewhere (lockstep generate --check).
struct MachineSpec {
  ScenarioSpec scenario;
  bool gaps_in_durations = false;

  template <class Visitor>
  static void describe(Visitor& key, MachineSpec& machine) {
    ScenarioSpec::describe(key, machine.scenario);
    key.optional("gaps_in_durations", machine.gaps_in_durations, false,
                 "durations of the job's kernels hold what lies between them, as traces of others do");
  }
  /// Nothing is asked of a job.
  void check() const {}
};

}  // namespace lockstep
