#pragma once

#include <map>
#include <utility>
#include <vector>

#include "calibration/collectives/collective_measurements.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The groups of GPUs that collectives were measured on, and what the planner (ops/collectives) says of a
/// collective that is alone there. The fabric must live as long.
class MeasuredMachine {
 public:
  MeasuredMachine(const Fabric& fabric, const CollectiveProfile& profile)
      : fabric_{fabric}, planner_{fabric} {
    planner_.set_profile(profile);
  }

  void set_profile(CollectiveProfile profile) { planner_.set_profile(std::move(profile)); }

  struct Planned {
    Seconds time;
    double band = 0;  ///< relative half-width, of what the profile says of the numbers it rests on
  };
  /// Its first nodes, and of each the first GPUs.
  /// @throws std::invalid_argument for a group that the machine does not have
  Planned planned(const CollectiveMeasurement& row);
  Seconds time(const CollectiveMeasurement& row) { return planned(row).time; }

 private:
  const std::vector<VertexId>& members(const CollectiveMeasurement& row);

  const Fabric& fabric_;
  CollectivePlanner planner_;
  std::map<std::pair<int, int>, std::vector<VertexId>> members_;
};

}  // namespace lockstep
