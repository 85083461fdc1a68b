#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/collectives/collective_fit.hpp"

namespace lockstep {

/// Below it times are the launch's.
inline constexpr Bytes kSmallMessages{65536};

/// A collective on groups of one shape.
struct MeasuredGroup {
  CollectiveKind kind = CollectiveKind::AllReduce;
  int nodes = 1;
  int gpus_per_node = 0;

  auto operator<=>(const MeasuredGroup&) const = default;
};

/// `all_reduce, 2 x 8`.
[[nodiscard]] std::string to_string(const MeasuredGroup& group);

[[nodiscard]] MeasuredGroup group_of(const CollectiveMeasurement& row);

/// Predicted / measured - 1.
[[nodiscard]] double error_of(const CollectiveMeasurements& measurements, const FittedRow& row);

/// Signed errors.
struct GroupErrors {
  std::vector<double> seen;
  std::vector<double> held_out;
};

/// Errors of messages of at least @p from, by group.
[[nodiscard]] std::map<MeasuredGroup, GroupErrors> errors_by_group(const CollectiveMeasurements& measurements,
                                                                   const CollectiveFit& fit,
                                                                   Bytes from = kSmallMessages);

/// Signed errors of the rows that the fit did not see, of messages of at least 64 KiB.
[[nodiscard]] std::vector<double> held_out_errors(const CollectiveMeasurements& measurements,
                                                  const CollectiveFit& fit);

/// Signed errors of the rows of any size that the fit did not see and that are predicted with @p number, over
/// the planner's time alone: what launching added to it, and the floor, are no part of a profile, and hide
/// how far short messages are off.
[[nodiscard]] std::vector<double> plan_errors(const CollectiveMeasurements& measurements,
                                              const CollectiveFit& fit, const FittedNumber& number);

}  // namespace lockstep
