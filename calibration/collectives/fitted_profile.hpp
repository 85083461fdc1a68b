#pragma once

#include <filesystem>
#include <string>

#include "calibration/collectives/collective_fit.hpp"

namespace lockstep {

/// What a new profile is called and rests on.
struct FittedProfileOptions {
  std::string name;
  std::string measured;         ///< the files that the measurements are of, in words
  std::string cluster;          ///< where they ran
  std::filesystem::path start;  ///< the file of the profile that the fit began with
};

/// The start profile's file with the numbers that moved in their places; remarks say which. Those rest on the
/// fit, with the error of the held-out rows of at least 64 KiB that are predicted with them (of all of them
/// where none is), and with the groups and sizes that were measured of what depends on them. The others are
/// those of another machine, as far as anyone knows.
/// @throws InputError for a start that cannot be read
[[nodiscard]] std::string fitted_profile_yaml(const CollectiveMeasurements& measurements,
                                              const CollectiveFit& fit, const FittedProfileOptions& options);

}  // namespace lockstep
