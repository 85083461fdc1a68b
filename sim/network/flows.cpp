#include "sim/network/flows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "ops/collectives/comm_route.hpp"
#include "ops/collectives/nvlinks.hpp"
#include "sim/simgrid_compat.hpp"

namespace lockstep {

namespace s4u = simgrid::s4u;

struct FlowsNetwork::Flows {
  struct Flow {
    s4u::CommPtr comm;  // kept until completion: SimGrid 3.32 crashes otherwise
    TransferId transfer = 0;
  };
  const Fabric& fabric;
  NvLinks nvlinks;
  const Machine* machine;
  Ended ended;
  std::vector<Flow> flows;
  std::vector<std::size_t> free;
  std::vector<std::size_t> left;                      // by transfer: edges in flight
  std::map<const CollectivePlan*, double> overheads;  // bytes on the wire per byte of payload
  std::vector<double> earliest;                       // by transfer: its plan's own bound lets it end then
  std::multimap<double, TransferId> due;              // transfers whose flows have ended, by that date

  double overhead(const CollectivePlan& plan, std::span<const VertexId> members);
  void start_flow(const CommEdge& edge, std::span<const VertexId> members, double bytes, TransferId transfer);
  void completed(const s4u::Comm& comm);
};

FlowsNetwork::FlowsNetwork(const Fabric& fabric)
    : flows_{std::make_unique<Flows>(Flows{fabric, NvLinks{fabric}, nullptr, {}, {}, {}, {}, {}, {}, {}})} {
  simgrid_compat::on_comm_completion(
      [flows = flows_.get()](const s4u::Comm& comm) { flows->completed(comm); });
}

FlowsNetwork::~FlowsNetwork() = default;

void FlowsNetwork::connect(const Machine& machine, Ended ended) {
  flows_->machine = &machine;
  flows_->ended = std::move(ended);
}

void FlowsNetwork::prepare(const CollectivePlan& /*plan*/) {}

/// Loads contain what the protocol adds to the payload; edges do not.
double FlowsNetwork::Flows::overhead(const CollectivePlan& plan, std::span<const VertexId> members) {
  const auto known = overheads.find(&plan);
  if (known != overheads.end()) {
    return known->second;
  }
  double payload = 0;
  for (const CommEdge& edge : plan.edges) {
    const auto from = members[static_cast<std::size_t>(edge.src)];
    const auto to = members[static_cast<std::size_t>(edge.dst)];
    payload += edge.share * static_cast<double>(comm_route(fabric, nvlinks, from, to, 0).links.size());
  }
  double wire = 0;
  for (const LinkLoad& load : plan.loads) {
    wire += load.share;
  }
  return overheads[&plan] = payload > 0 ? wire / payload : 1;
}

void FlowsNetwork::Flows::start_flow(const CommEdge& edge, std::span<const VertexId> members, double bytes,
                                     TransferId transfer) {
  std::size_t slot = flows.size();
  if (free.empty()) {
    flows.emplace_back();
  } else {
    slot = free.back();
    free.pop_back();
  }
  auto comm = s4u::Comm::sendto_init(machine->host(members[static_cast<std::size_t>(edge.src)]),
                                     machine->host(members[static_cast<std::size_t>(edge.dst)]));
  comm->set_payload_size(static_cast<std::uint64_t>(bytes));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what SimGrid carries for its users is a void*
  comm->set_data(reinterpret_cast<void*>(slot + 1));
  flows[slot] = {comm, transfer};
  simgrid_compat::start(*comm);
}

void FlowsNetwork::Flows::completed(const s4u::Comm& comm) {
  const auto tag = reinterpret_cast<std::size_t>(const_cast<s4u::Comm&>(comm).get_data<void>());
  if (tag == 0) {
    return;  // somebody else's
  }
  const TransferId transfer = flows[tag - 1].transfer;
  free.push_back(tag - 1);
  if (--left[transfer] > 0) {
    return;
  }
  const double now = s4u::Engine::get_clock();
  if (earliest[transfer] > now) {
    due.emplace(earliest[transfer], transfer);
  } else {
    ended(transfer, now);
  }
}

void FlowsNetwork::start(TransferId transfer, const CollectivePlan& plan, std::span<const VertexId> members,
                         double date) {
  Flows& flows = *flows_;
  if (plan.edges.empty() || plan.size <= Bytes{0}) {
    flows.due.emplace(date, transfer);
    return;
  }
  if (flows.left.size() <= transfer) {
    flows.left.resize(transfer + 1);
    flows.earliest.resize(transfer + 1);
  }
  flows.earliest[transfer] = date + plan.size / plan.rate_cap / Seconds{1};
  flows.left[transfer] = plan.edges.size();
  const std::size_t in_flight = flows.flows.size() - flows.free.size() + plan.edges.size();
  if (SIMGRID_VERSION < 33400 && in_flight > kMostFlowsOnOldSimgrid) {
    throw std::invalid_argument(fmt::format(
        "network: flows would have {} flows in flight; SimGrid before 3.34 is too slow beyond {}: use "
        "network: shared, or a newer SimGrid",
        in_flight, kMostFlowsOnOldSimgrid));
  }
  const double scale = plan.size.in_base_units() * flows.overhead(plan, members);
  for (const CommEdge& edge : plan.edges) {
    flows.start_flow(edge, members, edge.share * scale, transfer);
  }
}

double FlowsNetwork::next_completion() {
  return flows_->due.empty() ? kNever : flows_->due.begin()->first;
}

TransferId FlowsNetwork::complete_next() {
  const TransferId transfer = flows_->due.begin()->second;
  flows_->due.erase(flows_->due.begin());
  return transfer;
}

}  // namespace lockstep
