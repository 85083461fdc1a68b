#pragma once

#include <set>
#include <string>
#include <vector>

#include "calibration/collectives/collective_measurements.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Measurements that a fit does not see, so that its errors there are those of a prediction.
struct HeldOut {
  int every = 4;         ///< of the sizes of a run, each so-manieth; 0: none
  std::set<int> groups;  ///< and all of groups with so many GPUs
};

/// A number of the profile after the fit.
struct FittedNumber {
  std::string key;
  std::string before;
  std::string after;
  bool moved = false;    ///< by more than 0.1 %: the measurements have something to say about it
  bool matters = false;  ///< 1 % of it, where the fit ended, changes a fitted row's time by 0.01 % or more
  std::vector<std::size_t> rows{};  ///< of a number that moved: what is predicted with it, indices into rows
  double factor = 1;                ///< after / before
  /// Factors beyond it, or below its inverse, are more than machines differ: three spreads of the fit
  /// (calibration/collectives/profile_numbers.hpp), 8.2 for a latency, 2.9 a rate, 1.8 an efficiency.
  double plausible = 1;
};

struct FittedRow {
  std::size_t measurement = 0;  ///< index into CollectiveMeasurements::rows
  Seconds predicted;
  bool held_out = false;
};

/// How a run was launched shows in its times, and is no part of a profile.
struct RunOverhead {
  Seconds added;  ///< to each collective: the last GPU's launch behind the first's
  Seconds floor;  ///< no collective repeats faster: launches by one host thread. 0: not seen
};

struct CollectiveFit {
  CollectiveProfile profile;
  std::vector<FittedNumber> numbers;
  std::vector<FittedRow> rows;    ///< one each measurement
  std::vector<RunOverhead> runs;  ///< by CollectiveMeasurements::runs
};

/// The profile with which the planner (ops/collectives) comes closest to the measurements: the most probable
/// one, where a relative error of 5 % is as unlikely as a number that lies its spread from @p start
/// (calibration/collectives/profile_numbers.hpp), and strays count little. A number on which nothing measured
/// depends keeps its value. Rates never exceed what the fabric's links carry, because the planner bounds
/// them.
///
/// A measured time is max(floor, added + the planner's time): nccl-tests repeats a collective without
/// waiting, so that a host that launches more slowly than the GPUs work sets the pace. The floor is the least
/// time of a run that begins at 4 KiB or less; `added` is fitted for each run.
///
/// @throws std::invalid_argument for groups that the fabric does not have, or no rows that are not held out
[[nodiscard]] CollectiveFit fit_collectives(const CollectiveMeasurements& measurements, const Fabric& fabric,
                                            const CollectiveProfile& start, const HeldOut& held_out);

}  // namespace lockstep
