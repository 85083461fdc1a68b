#include "calibration/collectives/measured_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "ops/collectives/channels.hpp"

namespace lockstep {

MeasuredMachine::Planned MeasuredMachine::planned(const CollectiveMeasurement& row) {
  CollectiveRequest request;
  request.kind = row.kind;
  request.size = row.size;
  if (row.kind == CollectiveKind::Send) {
    return planned_ring_of_sends(request, members(row));
  }
  const auto plan = planner_.plan(request, members(row));
  return {time_alone(plan, fabric_), plan.band};
}

MeasuredMachine::Planned MeasuredMachine::planned_ring_of_sends(CollectiveRequest request,
                                                                std::span<const VertexId> members) const {
  request.source = 0;
  request.root = 1;
  if (const MessageCarrier carrier = carrier_of(fabric_, members); carrier.spans_nodes) {
    request.carrier = carrier;
  }
  std::vector<CollectivePlan> sends;
  std::map<LinkId, double> together;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const std::array pair{members[rank], members[(rank + 1) % members.size()]};
    sends.push_back(planner_.plan(request, pair));
    for (const LinkLoad& load : sends.back().loads) {
      together[load.link] += load.share;
    }
  }
  Planned longest;
  for (CollectivePlan& send : sends) {
    for (LinkLoad& load : send.loads) {
      load.share = together.at(load.link);
    }
    longest.time = std::max(longest.time, time_alone(send, fabric_));
    longest.band = std::max(longest.band, send.band);
  }
  return longest;
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
