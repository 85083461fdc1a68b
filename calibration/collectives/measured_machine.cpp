#include "calibration/collectives/measured_machine.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep {

MeasuredMachine::Planned MeasuredMachine::planned(const CollectiveMeasurement& row) {
  CollectiveRequest request;
  request.kind = row.kind;
  request.size = row.size;
  const auto plan = planner_.plan(request, members(row));
  return {time_alone(plan, fabric_), plan.band};
}

const std::vector<VertexId>& MeasuredMachine::members(const CollectiveMeasurement& row) {
  auto& found = members_[{row.nodes, row.gpus_per_node}];
  if (found.empty()) {
    for (const VertexId gpu : fabric_.gpus()) {
      const Vertex& vertex = fabric_.vertices()[gpu];
      if (vertex.node < row.nodes && vertex.index < row.gpus_per_node) {
        found.push_back(gpu);
      }
    }
    if (found.size() != static_cast<std::size_t>(row.nodes) * static_cast<std::size_t>(row.gpus_per_node)) {
      throw std::invalid_argument{fmt::format(
          "a measurement is of {} x {} GPUs, which the cluster does not have: is --cluster where they ran?",
          row.nodes, row.gpus_per_node)};
    }
  }
  return found;
}

}  // namespace lockstep
