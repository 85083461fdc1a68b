#pragma once

#include <map>
#include <span>
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
  MeasuredMachine(const Fabric& fabric, CollectiveOptions options)
      : fabric_{fabric}, planner_{fabric, std::move(options)} {}

  void set_profile(CollectiveProfile profile) { planner_.set_profile(std::move(profile)); }

  struct Planned {
    Seconds time;
    double band = 0;  ///< relative half-width, of what the profile says of the numbers it rests on
  };
  /// Its first nodes, and of each the first GPUs. CollectiveKind::Send: each of them to the next, the last to
  /// the first, all at once (nccl-tests' sendrecv), until the last has ended.
  /// @throws std::invalid_argument for a group that the machine does not have
  Planned planned(const CollectiveMeasurement& row);
  Seconds time(const CollectiveMeasurement& row) { return planned(row).time; }

 private:
  const std::vector<VertexId>& members(const CollectiveMeasurement& row);
  [[nodiscard]] Planned planned_ring_of_sends(CollectiveRequest request,
                                              std::span<const VertexId> members) const;

  const Fabric& fabric_;
  CollectivePlanner planner_;
  std::map<std::pair<int, int>, std::vector<VertexId>> members_;
};

}  // namespace lockstep
