#pragma once

#include <filesystem>
#include <string>

#include "calibration/collectives/collective_fit.hpp"

namespace lockstep {

/// The name of a new profile, and the files that it rests on.
struct FittedProfileOptions {
  std::string name;
  std::string measured;         ///< the files that the measurements are of, in words
  std::string cluster;          ///< where they ran
  std::filesystem::path start;  ///< the file of the profile that the fit began with
};

/// The start profile's file with the numbers that moved in their places; remarks say which. Those are fitted,
/// with the error of the held-out rows that are predicted with them (plan_errors; 10 % count as one row more,
/// as few rows say little), and with the groups and sizes that were measured of what depends on them; derived
/// and without an error where no row that was held out depends on them. The others are those of another
/// machine, as far as anyone knows.
/// @throws InputError for a start that cannot be read
[[nodiscard]] std::string fitted_profile_yaml(const CollectiveMeasurements& measurements,
                                              const CollectiveFit& fit, const FittedProfileOptions& options);

}  // namespace lockstep
