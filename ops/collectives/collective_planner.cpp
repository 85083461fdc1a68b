#include "ops/collectives/collective_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "ops/collectives/channels.hpp"
#include "ops/collectives/direct.hpp"
#include "ops/collectives/nccl_choice.hpp"
#include "ops/collectives/network_costs.hpp"
#include "ops/collectives/plan_costs.hpp"

namespace lockstep {
namespace {

constexpr std::array kProtocols{CommProtocol::LL, CommProtocol::LL128, CommProtocol::Simple};

/// Size of a barrier: one element of an all-reduce, as PyTorch's ProcessGroupNCCL sends.
constexpr Bytes kBarrierMessage{4};

/// PXN wherever it can be (NCCL_P2P_PXN_LEVEL 2, since 2.12), PAT with one GPU a node (ncclPatEnable, 2.23).
/// Trees only between nodes: inside one, NCCL's own correction leaves them no range of sizes (on 8 A100 a
/// ring with LL up to 512 KiB and with LL128 above is never later; tuning.cc, treeCorrectionFactor).
std::vector<CommAlgorithm> candidates(CollectiveKind kind, const GroupLayout& layout) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      if (layout.nodes.size() > 1) {
        return {CommAlgorithm::Ring, CommAlgorithm::Tree, CommAlgorithm::NvlsTree};
      }
      return {CommAlgorithm::Ring, CommAlgorithm::Nvls};
    case CollectiveKind::AllToAll:
    case CollectiveKind::Send:
    case CollectiveKind::Receive:
      return {layout.has_relays() ? CommAlgorithm::Pxn : CommAlgorithm::Direct};
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      if (layout.nodes.size() == layout.node_of.size()) {
        return {CommAlgorithm::Ring, CommAlgorithm::Pat};
      }
      return {CommAlgorithm::Ring};
    default:
      return {CommAlgorithm::Ring};
  }
}

[[noreturn]] void reject(CollectiveKind kind, const std::string& what) {
  throw std::invalid_argument(to_string(kind) + ": " + what);
}

void check_position(CollectiveKind kind, const char* what, int position, std::size_t members) {
  if (position < 0 || static_cast<std::size_t>(position) >= members) {
    reject(kind, fmt::format("{} {} is not a position in a group of {}", what, position, members));
  }
}

void check_matrix(const CollectiveRequest& request, std::size_t members) {
  if (request.kind != CollectiveKind::AllToAll) {
    reject(request.kind, "only an all-to-all has a byte matrix");
  }
  if (request.bytes.size() != members * members) {
    reject(request.kind, fmt::format("{} byte counts for a group of {}, which needs {}", request.bytes.size(),
                                     members, members * members));
  }
  for (const double bytes : request.bytes) {
    if (!(bytes >= 0)) {
      reject(request.kind, "a byte count is negative");
    }
  }
}

void check_request(const CollectiveRequest& request, std::size_t members) {
  const CollectiveKind kind = request.kind;
  if (request.size < Bytes{0}) {
    reject(kind, "the size is negative");
  }
  check_position(kind, "root", request.root, members);
  check_position(kind, "source", request.source, members);
  const bool is_message = kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
  if (is_message && request.root == request.source) {
    reject(kind, "sender and receiver are the same member");
  }
  if (!request.bytes.empty()) {
    check_matrix(request, members);
  }
}

/// The request as the algorithms see it: a barrier is a small all-reduce; an uneven all-to-all progresses by
/// the mean bytes a member sends.
CollectiveRequest normalised(CollectiveRequest request, std::size_t members) {
  if (request.kind == CollectiveKind::Barrier) {
    request.kind = CollectiveKind::AllReduce;
    request.size = kBarrierMessage;
  }
  if (!request.bytes.empty()) {
    request.size = Bytes{std::accumulate(request.bytes.begin(), request.bytes.end(), 0.0) /
                         static_cast<double>(members)};
  }
  return request;
}

/// That of the profile, if it is of this very machine; else the cluster's.
const NetworkFabric& network_of(const Fabric& fabric, const CollectiveProfile& profile) {
  static const NetworkFabric unknown;
  if (profile.between_nodes) {
    return *profile.between_nodes;
  }
  return fabric.network() != nullptr ? *fabric.network() : unknown;
}

bool has_amd_cpu(const Fabric& fabric, std::span<const VertexId> members) {
  const int node = fabric.vertices()[members.front()].node;
  return std::ranges::any_of(fabric.sockets_of(node), [&](VertexId socket) {
    return fabric.vertices()[socket].vendor == CpuVendor::Amd;
  });
}

bool crosses_network(const std::vector<LinkLoad>& loads, const Fabric& fabric) {
  return std::ranges::any_of(
      loads, [&](const LinkLoad& load) { return fabric.links()[load.link].kind == LinkKind::Network; });
}

/// Bytes that leave a GPU over its NVLinks.
BytesPerSecond nvlink_of(const Fabric& fabric, VertexId gpu) {
  BytesPerSecond all{0};
  for (const LinkId id : fabric.links_from(gpu)) {
    const Link& link = fabric.links()[id];
    if (link.kind == LinkKind::NvLink && fabric.vertices()[link.to].kind != VertexKind::CpuSocket) {
      all += link.bandwidth;
    }
  }
  return all;
}

std::optional<CommProtocol> protocol_of(const std::string& name) {
  const auto found =
      std::ranges::find_if(kProtocols, [&](CommProtocol protocol) { return name_of(protocol) == name; });
  return found == kProtocols.end() ? std::nullopt : std::optional{*found};
}

/// Some of it enters a CPU socket over PCIe.
bool crosses_cpu(const RoutedTraffic& routed, const Fabric& fabric) {
  return std::ranges::any_of(routed.loads, [&](const LinkLoad& load) {
    const Link& link = fabric.links()[load.link];
    return link.kind == LinkKind::Pcie && fabric.vertices()[link.to].kind == VertexKind::CpuSocket &&
           fabric.vertices()[link.from].kind != VertexKind::Nic;
  });
}

/// The key of the latency of a step over the slowest kind of link that a plan uses.
const char* slowest_step(const CollectivePlan& plan, const Fabric& fabric) {
  const char* slowest = "nvlink";
  for (const LinkLoad& load : plan.loads) {
    const LinkKind kind = fabric.links()[load.link].kind;
    if (kind == LinkKind::Network) {
      return "network";
    }
    if (kind == LinkKind::HostMemory) {
      slowest = "host_memory";
    } else if (kind != LinkKind::NvLink && std::string_view{slowest} == "nvlink") {
      slowest = "pcie";
    }
  }
  return slowest;
}

/// Limits a message between GPUs of a node over NVSwitches to the rate of the channels that carry it.
void limit_message(CollectivePlan& plan, const CollectiveRequest& request, const CollectiveProfile& profile,
                   const Fabric& fabric) {
  if (!is_message(request.kind) || !profile.messages ||
      std::string_view{slowest_step(plan, fabric)} != "nvlink") {
    return;
  }
  plan.channels = message_channels(request.carrier, request.size, profile.messages->channels);
  plan.rate_cap = std::min(plan.rate_cap, plan.channels * profile.messages->channel_bandwidth);
}

/// A network's costs are fitted where they are the profile's own, else derived.
Evidence evidence_of(const NetworkFabric& network, const CollectiveProfile& profile) {
  const auto own = profile.between_nodes ? Provenance::Fitted : Provenance::Derived;
  return {own, network.source, network.error, std::nullopt, {}};
}

/// Reports the evidence for the costs that decide a plan's time: those of its slowest kind of step.
void tell_evidence(CollectivePlan& plan, const CollectiveProfile& profile, const Fabric& fabric) {
  const bool is_pxn = plan.algorithm == name_of(CommAlgorithm::Pxn);
  const std::string algorithm = is_pxn ? name_of(CommAlgorithm::Direct) : plan.algorithm;
  const std::string protocol = fmt::format("{}.{}", algorithm, plan.protocol);
  std::string key = fmt::format("{}.{}", protocol, slowest_step(plan, fabric));
  if (key.ends_with("host_memory") && !profile.provenance.contains(key)) {
    key = protocol + ".pcie";  // whose costs stand in where it has none (plan_costs.cpp)
  }
  if (key.ends_with("network")) {
    const Evidence evidence = evidence_of(network_of(fabric, profile), profile);
    plan.provenance = evidence.is;
    plan.band = half_width(evidence);
    return;
  }
  const Evidence& evidence = evidence_for(profile.provenance, key);
  plan.provenance = evidence.is;
  plan.band = half_width(evidence);
}

}  // namespace

/// A process group on the fabric, with what was worked out for it before.
class CollectivePlanner::Group {
 public:
  Group(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members)
      : fabric_{fabric},
        nvlinks_{nvlinks},
        members_{members.begin(), members.end()},
        layout_{lay_out(fabric, nvlinks, members)},
        channels_{spans_nodes() ? channel_limit(fabric, members) : 0},
        has_amd_cpu_{spans_nodes() && has_amd_cpu(fabric, members)} {}

  [[nodiscard]] const GroupLayout& layout() const { return layout_; }

  /// The time by which a plan is chosen: between nodes what NCCL expects, inside one what it takes.
  Seconds expected(const CollectivePlan& plan, CommAlgorithm algorithm, const CollectiveRequest& request,
                   const CollectiveProfile& profile) {
    const bool is_nccls = spans_nodes() && crosses_network(plan.loads, fabric_) &&
                          has_proxy(network_of(fabric_, profile)) &&
                          (algorithm == CommAlgorithm::Ring || algorithm == CommAlgorithm::Tree ||
                           algorithm == CommAlgorithm::NvlsTree || algorithm == CommAlgorithm::Pat);
    if (!is_nccls || request.kind == CollectiveKind::Broadcast || request.kind == CollectiveKind::Reduce) {
      return time_alone(plan, fabric_);
    }
    return time_by_nccl(nccl_view(request, profile), algorithm, *protocol_of(plan.protocol));
  }

  /// One plan for each protocol that the profile has and the options allow.
  std::vector<CollectivePlan> priced(const CommAlgorithmRow& row, const CollectiveRequest& request,
                                     const CollectiveOptions& options) {
    std::vector<CollectivePlan> plans;
    for (const CommProtocol protocol : kProtocols) {
      const std::optional<ProtocolCosts>& costs = options.profile.of(row.id).of(protocol);
      if (!costs || (options.protocol && *options.protocol != protocol)) {
        continue;
      }
      const RoutedTraffic& routed = traffic(row, request);
      if (spans_nodes() && crosses_network(routed.loads, fabric_)) {
        if (!options.protocol && !is_offered(row.id, protocol, request, routed, options.profile)) {
          continue;
        }
        plans.push_back(priced_between_nodes(row, protocol, request, routed, options.profile));
      } else {
        plans.push_back(price(fabric_, routed, row.steps(request, layout_), request.size, *costs,
                              options.profile.link_efficiency));
      }
      plans.back().algorithm = row.name;
      plans.back().protocol = name_of(protocol);
    }
    return plans;
  }

 private:
  [[nodiscard]] bool spans_nodes() const { return layout_.nodes.size() > 1; }

  /// The facts that NCCL knows of the group.
  NcclView nccl_view(const CollectiveRequest& request, const CollectiveProfile& profile) {
    const RoutedTraffic& ring = traffic(row_of(CommAlgorithm::Ring), request);
    LinkEfficiency efficiency = profile.link_efficiency;
    efficiency.network *= network_of(fabric_, profile).efficiency;
    ProtocolCosts wires;
    const CollectivePlan plan = price(fabric_, ring, {}, request.size, wires, efficiency);
    return {request.kind,
            request.size,
            layout_.members(),
            static_cast<int>(layout_.nodes.size()),
            ring.within_nodes.kind == HopClass::NvLink,
            has_amd_cpu_,
            ring.busiest_member * rate_of_links(plan, fabric_),
            channels_ / 2,
            nvlink_of(fabric_, members_.front())};
  }

  /// NCCL keeps LL128 off where NICs are reached through a CPU by PCIe (tuning.cc: typeInter beyond PXB).
  bool is_offered(CommAlgorithm algorithm, CommProtocol protocol, const CollectiveRequest& request,
                  const RoutedTraffic& routed, const CollectiveProfile& profile) const {
    return is_allowed(network_of(fabric_, profile), request, algorithm, protocol) &&
           (protocol != CommProtocol::LL128 || !crosses_cpu(routed, fabric_));
  }

  CollectivePlan priced_between_nodes(const CommAlgorithmRow& row, CommProtocol protocol,
                                      const CollectiveRequest& request, const RoutedTraffic& routed,
                                      const CollectiveProfile& profile) const {
    const NetworkFabric& network = network_of(fabric_, profile);
    const NetworkPass pass{row.id, protocol, row.steps(request, layout_), channels_, has_amd_cpu_};
    LinkEfficiency efficiency = profile.link_efficiency;
    efficiency.network *= network.efficiency;
    CollectivePlan plan = price(
        fabric_, routed, pass.steps, request.size,
        costs_between_nodes(*profile.of(row.id).of(protocol), request, layout_, pass, network), efficiency);
    charge_network(plan, request, layout_, pass, network, fabric_);
    return plan;
  }

  const RoutedTraffic& traffic(const CommAlgorithmRow& row, const CollectiveRequest& request) {
    if (!request.bytes.empty()) {  // every matrix is another shape
      uneven_ = route(row, request);
      return uneven_;
    }
    const auto key = std::tuple{row.id, request.kind, request.root, request.source};
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : known_.emplace(key, route(row, request)).first->second;
  }

  RoutedTraffic route(const CommAlgorithmRow& row, const CollectiveRequest& request) const {
    return route_traffic(fabric_, nvlinks_, members_, layout_, row.traffic(request, layout_));
  }

  const Fabric& fabric_;
  const NvLinks& nvlinks_;
  std::vector<VertexId> members_;
  GroupLayout layout_;
  int channels_;  // of a group that spans nodes
  bool has_amd_cpu_;
  std::map<std::tuple<CommAlgorithm, CollectiveKind, int, int>, RoutedTraffic> known_;
  RoutedTraffic uneven_;
};

CollectivePlanner::CollectivePlanner(const Fabric& fabric, CollectiveOptions options)
    : fabric_{&fabric}, nvlinks_{std::make_unique<const NvLinks>(fabric)}, options_{std::move(options)} {}
CollectivePlanner::~CollectivePlanner() = default;
CollectivePlanner::CollectivePlanner(CollectivePlanner&&) noexcept = default;
CollectivePlanner& CollectivePlanner::operator=(CollectivePlanner&&) noexcept = default;

CollectivePlanner::Group& CollectivePlanner::group(std::span<const VertexId> members) const {
  std::vector<VertexId> key{members.begin(), members.end()};
  const auto found = groups_.find(key);
  if (found != groups_.end()) {
    return *found->second;
  }
  auto fresh = std::make_unique<Group>(*fabric_, *nvlinks_, members);
  return *groups_.emplace(std::move(key), std::move(fresh)).first->second;
}

CollectivePlan CollectivePlanner::plan(const CollectiveRequest& request,
                                       std::span<const VertexId> members) const {
  check_request(request, members.size());
  const CollectiveRequest wanted = normalised(request, members.size());
  Group& here = group(members);
  const auto fixed = options_.algorithm.find(request.kind);
  const auto algorithms =
      fixed != options_.algorithm.end() ? std::vector{fixed->second} : candidates(wanted.kind, here.layout());

  std::optional<CollectivePlan> best;
  Seconds least;
  std::vector<std::string_view> objections;
  for (const CommAlgorithm algorithm : algorithms) {
    const CommAlgorithmRow& row = row_of(algorithm);
    if (const std::string_view objection = row.objection(wanted, here.layout()); !objection.empty()) {
      objections.push_back(objection);
      continue;
    }
    for (CollectivePlan& candidate : here.priced(row, wanted, options_)) {
      const Seconds expected = here.expected(candidate, row.id, wanted, options_.profile);
      if (!best || expected < least) {
        best = std::move(candidate);
        least = expected;
      }
    }
  }
  if (!best) {
    reject(request.kind,
           objections.size() == algorithms.size()
               ? fmt::format("{}", fmt::join(objections, "; "))
               : fmt::format("profile '{}' has no costs for the algorithm and protocol asked for",
                             options_.profile.name));
  }
  limit_message(*best, wanted, options_.profile, *fabric_);
  tell_evidence(*best, options_.profile, *fabric_);
  return *std::move(best);
}

CommSchedule CollectivePlanner::schedule(const CollectiveRequest& request, std::span<const VertexId> members,
                                         CommAlgorithm algorithm) const {
  check_request(request, members.size());
  const CollectiveRequest wanted = normalised(request, members.size());
  const GroupLayout& layout = group(members).layout();
  const CommAlgorithmRow& row = row_of(algorithm);
  if (const std::string_view objection = row.objection(wanted, layout); !objection.empty()) {
    reject(request.kind, std::string{objection});
  }
  return row.schedule(wanted, layout);
}

Seconds time_alone(const CollectivePlan& plan, const Fabric& fabric) {
  return plan.latency + plan.size / std::min(plan.rate_cap, rate_of_links(plan, fabric));
}

}  // namespace lockstep
