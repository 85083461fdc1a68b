#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/measure/experiment.hpp"
#include "calibration/measure/options.hpp"
#include "calibration/measure/results_file.hpp"

namespace lockstep {

/// The session's view of the machine.
struct MachineUnderTest {
  MachineLimits limits;
  MachineDescription description;

  /// Prepares a point. @throws std::runtime_error where the machine cannot measure it
  std::function<std::unique_ptr<Experiment>(const Family&, const GridPoint&)> prepare;

  /// Whether it still works after a failure: an illegal access, say, ends all.
  std::function<bool()> works;

  /// The clock of the multiprocessors now, in MHz; 0 where it is not known.
  std::function<int()> sm_clock_mhz;
};

/// Families, points and expected times on this machine, as text.
[[nodiscard]] std::string list_of(const Options& options, const MachineLimits& limits);

/// How often a point is repeated: full runs know the median to 1 % with 95 % confidence, quick ones to 2.5 %,
/// where the budget of the point allows it.
[[nodiscard]] StoppingRule stopping_rule(Extent extent);

/// Results of a session, in points.
struct Outcomes {
  std::size_t measured = 0;
  std::size_t failed = 0;
};

/// Measures all points of the families that are not in the tables yet. @p tell gets lines of progress. A
/// point that fails is told and left out; a later --resume tries it again.
/// @throws InputError as ResultsFile, std::runtime_error where the machine does not work any more
Outcomes measure_all(const Options& options, const MachineUnderTest& machine,
                     const std::function<void(const std::string&)>& tell);

}  // namespace lockstep
