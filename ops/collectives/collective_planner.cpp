#include "ops/collectives/collective_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "ops/collectives/channels.hpp"
#include "ops/collectives/direct.hpp"
#include "ops/collectives/nccl_choice.hpp"
#include "ops/collectives/network_costs.hpp"
#include "ops/collectives/plan_costs.hpp"
#include "ops/collectives/plan_evidence.hpp"
#include "ops/collectives/request_check.hpp"
#include "topology/alike_nodes.hpp"
#include "topology/ecmp.hpp"

namespace lockstep {
namespace {

constexpr std::array kProtocols{CommProtocol::LL, CommProtocol::LL128, CommProtocol::Simple};

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

bool has_amd_cpu(const Fabric& fabric, std::span<const VertexId> members) {
  const int node = fabric.vertices()[members.front()].node;
  return std::ranges::any_of(fabric.sockets_of(node), [&](VertexId socket) {
    return fabric.vertices()[socket].vendor == CpuVendor::Amd;
  });
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

/// A way that a collective may go, with its price.
struct Candidate {
  PlanPrice price;
  std::shared_ptr<const RoutedTraffic> traffic;
  CommAlgorithm algorithm = CommAlgorithm::Ring;
  CommProtocol protocol = CommProtocol::Simple;
};

/// Limits a message between GPUs of a node over NVSwitches to the rate of the channels that carry it.
void limit_message(CollectivePlan& plan, const CollectiveRequest& request, const CollectiveProfile& profile,
                   const Fabric& fabric) {
  if (!is_message(request.kind) || !profile.messages || slowest_step(plan, fabric) != "nvlink") {
    return;
  }
  plan.channels = message_channels(request.carrier, request.size, profile.messages->channels);
  plan.rate_cap = std::min(plan.rate_cap, plan.channels * profile.messages->channel_bandwidth);
}

/// Puts the loads of a plan for @p from on the links that @p to has in their places.
void move_loads(CollectivePlan& plan, const AlikeNodes& nodes, std::span<const VertexId> from,
                std::span<const VertexId> to) {
  std::vector<LinkId> links;
  links.reserve(plan.loads.size());
  std::ranges::transform(plan.loads, std::back_inserter(links), &LinkLoad::link);
  const std::vector<LinkId> images = nodes.images(links, from, to);
  for (std::size_t load = 0; load < images.size(); ++load) {
    plan.loads[load].link = images[load];
  }
  std::ranges::sort(plan.loads, {}, &LinkLoad::link);
}

}  // namespace

/// A process group on the fabric, with what was worked out for it before.
class CollectivePlanner::Group {
 public:
  Group(const Fabric& fabric, const NvLinks& nvlinks, PairWays& ways, std::span<const VertexId> members)
      : fabric_{fabric},
        ways_{ways},
        members_{members.begin(), members.end()},
        layout_{lay_out(fabric, nvlinks, members)},
        channels_{spans_nodes() ? channel_limit(fabric, members) : 0},
        has_amd_cpu_{spans_nodes() && has_amd_cpu(fabric, members)},
        is_hashed_{hashed_choices() != choices_before_} {}

  [[nodiscard]] const GroupLayout& layout() const { return layout_; }
  [[nodiscard]] std::span<const VertexId> members() const { return members_; }

  /// A hash chose between equally good ways: another group of the same signature may go by others.
  [[nodiscard]] bool is_hashed() const { return is_hashed_; }

  /// The plan that @p make makes, once for equal requests: images of this group ask the same again.
  template <class Make>
  CollectivePlan planned(const CollectiveRequest& request, const Make& make) {
    if (!request.bytes.empty()) {
      return make();
    }
    const auto known =
        std::ranges::find_if(planned_, [&](const auto& before) { return before.first == request; });
    return known != planned_.end() ? known->second : planned_.emplace_back(request, make()).second;
  }

  void forget_plans() { planned_.clear(); }

  /// The time by which a plan is chosen: between nodes what NCCL expects, inside one what it takes.
  Seconds expected(const Candidate& candidate, const CollectiveRequest& request,
                   const CollectiveProfile& profile) {
    const CommAlgorithm algorithm = candidate.algorithm;
    const bool is_nccls = spans_nodes() && candidate.traffic->crosses_network() &&
                          has_proxy(network_of(fabric_, profile)) &&
                          (algorithm == CommAlgorithm::Ring || algorithm == CommAlgorithm::Tree ||
                           algorithm == CommAlgorithm::NvlsTree || algorithm == CommAlgorithm::Pat);
    if (!is_nccls || request.kind == CollectiveKind::Broadcast || request.kind == CollectiveKind::Reduce) {
      return candidate.price.alone();
    }
    return time_by_nccl(nccl_view(request, profile), algorithm, candidate.protocol);
  }

  /// One for each protocol that the profile has and the options allow.
  std::vector<Candidate> priced(const CommAlgorithmRow& row, const CollectiveRequest& request,
                                const CollectiveOptions& options) {
    std::vector<Candidate> candidates;
    std::shared_ptr<const RoutedTraffic> routed;
    for (const CommProtocol protocol : kProtocols) {
      const std::optional<ProtocolCosts>& costs = options.profile.of(row.id).of(protocol);
      if (!costs || (options.protocol && *options.protocol != protocol)) {
        continue;
      }
      if (!routed) {
        routed = traffic(row, request);
      }
      Candidate candidate{{}, routed, row.id, protocol};
      if (!spans_nodes() || !routed->crosses_network()) {
        candidate.price = price(*routed, row.steps(request, layout_), request.size, *costs,
                                options.profile.link_efficiency);
      } else if (options.protocol || is_offered(row.id, protocol, request, *routed, options.profile)) {
        candidate.price = price_between_nodes(row, protocol, request, *routed, options.profile);
      } else {
        continue;
      }
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

 private:
  [[nodiscard]] bool spans_nodes() const { return layout_.nodes.size() > 1; }

  /// The facts that NCCL knows of the group.
  NcclView nccl_view(const CollectiveRequest& request, const CollectiveProfile& profile) {
    const std::shared_ptr<const RoutedTraffic> routed = traffic(row_of(CommAlgorithm::Ring), request);
    const RoutedTraffic& ring = *routed;
    LinkEfficiency efficiency = profile.link_efficiency;
    efficiency.network *= network_of(fabric_, profile).efficiency;
    const PlanPrice wires = price(ring, {}, request.size, ProtocolCosts{}, efficiency);
    return {request.kind,
            request.size,
            layout_.members(),
            static_cast<int>(layout_.nodes.size()),
            ring.within_nodes.kind == HopClass::NvLink,
            has_amd_cpu_,
            ring.busiest_member * wires.link_rate,
            channels_ / 2,
            nvlink_of(fabric_, members_.front())};
  }

  /// NCCL keeps LL128 off where NICs are reached through a CPU by PCIe (tuning.cc: typeInter beyond PXB).
  bool is_offered(CommAlgorithm algorithm, CommProtocol protocol, const CollectiveRequest& request,
                  const RoutedTraffic& routed, const CollectiveProfile& profile) const {
    return is_allowed(network_of(fabric_, profile), request, algorithm, protocol) &&
           (protocol != CommProtocol::LL128 || !routed.enters_cpu);
  }

  PlanPrice price_between_nodes(const CommAlgorithmRow& row, CommProtocol protocol,
                                const CollectiveRequest& request, const RoutedTraffic& routed,
                                const CollectiveProfile& profile) const {
    const NetworkFabric& network = network_of(fabric_, profile);
    const NetworkPass pass{row.id, protocol, row.steps(request, layout_), channels_, has_amd_cpu_};
    LinkEfficiency efficiency = profile.link_efficiency;
    efficiency.network *= network.efficiency;
    const ProtocolCosts costs =
        costs_between_nodes(*profile.of(row.id).of(protocol), request, layout_, pass, network);
    PlanPrice its = price(routed, pass.steps, request.size, costs, efficiency);
    charge_network(its, request, routed, layout_, pass, network);
    return its;
  }

  std::shared_ptr<const RoutedTraffic> traffic(const CommAlgorithmRow& row,
                                               const CollectiveRequest& request) {
    if (!request.bytes.empty()) {  // every matrix is another shape
      return std::make_shared<const RoutedTraffic>(route(row, request));
    }
    std::shared_ptr<const RoutedTraffic>& known =
        known_[std::tuple{row.id, request.kind, request.root, request.source}];
    if (!known) {
      known = std::make_shared<const RoutedTraffic>(route(row, request));
    }
    return known;
  }

  RoutedTraffic route(const CommAlgorithmRow& row, const CollectiveRequest& request) {
    const std::uint64_t before = hashed_choices();
    RoutedTraffic routed = route_traffic(ways_, fabric_, members_, layout_, row.traffic(request, layout_));
    is_hashed_ = is_hashed_ || hashed_choices() != before;
    return routed;
  }

  std::uint64_t choices_before_ = hashed_choices();  // laying out comes after it
  const Fabric& fabric_;
  PairWays& ways_;
  std::vector<VertexId> members_;
  GroupLayout layout_;
  int channels_;  // of a group that spans nodes
  bool has_amd_cpu_;
  bool is_hashed_;
  std::map<std::tuple<CommAlgorithm, CollectiveKind, int, int>, std::shared_ptr<const RoutedTraffic>> known_;
  std::vector<std::pair<CollectiveRequest, CollectivePlan>> planned_;
};

CollectivePlanner::CollectivePlanner(const Fabric& fabric, CollectiveOptions options)
    : fabric_{&fabric},
      nvlinks_{std::make_unique<const NvLinks>(fabric)},
      ways_{std::make_unique<PairWays>(fabric, *nvlinks_)},
      options_{std::move(options)} {}
CollectivePlanner::~CollectivePlanner() = default;
CollectivePlanner::CollectivePlanner(CollectivePlanner&&) noexcept = default;
CollectivePlanner& CollectivePlanner::operator=(CollectivePlanner&&) noexcept = default;

std::size_t CollectivePlanner::NumbersHash::operator()(const std::vector<std::uint32_t>& numbers) const {
  std::uint64_t hash = numbers.size();
  for (const std::uint32_t number : numbers) {
    hash = mixed(hash ^ number);
  }
  return hash;
}

CollectivePlanner::Group& CollectivePlanner::own_group(std::span<const VertexId> members) const {
  std::unique_ptr<Group>& known = own_[{members.begin(), members.end()}];
  if (!known) {
    known = std::make_unique<Group>(*fabric_, *nvlinks_, *ways_, members);
  }
  return *known;
}

CollectivePlanner::Group& CollectivePlanner::alike_group(std::span<const VertexId> members) const {
  std::unique_ptr<Group>& known = alike_[fabric_->alike_nodes().signature(members)];
  if (!known) {
    known = std::make_unique<Group>(*fabric_, *nvlinks_, *ways_, members);
  }
  return *known;
}

void CollectivePlanner::set_profile(CollectiveProfile profile) {
  options_.profile = std::move(profile);
  for (const auto& [signature, group] : alike_) {
    group->forget_plans();
  }
}

CollectivePlan CollectivePlanner::plan(const CollectiveRequest& request,
                                       std::span<const VertexId> members) const {
  check_request(request, members.size());
  Group& alike = alike_group(members);
  const bool is_itself = std::ranges::equal(alike.members(), members);
  if (!is_itself && alike.is_hashed()) {
    return best_of(own_group(members), request);
  }
  if (is_itself) {
    return best_of(alike, request);
  }
  CollectivePlan plan = alike.planned(request, [&] { return best_of(alike, request); });
  if (alike.is_hashed()) {
    return best_of(own_group(members), request);
  }
  move_loads(plan, fabric_->alike_nodes(), alike.members(), members);
  return plan;
}

CollectivePlan CollectivePlanner::best_of(Group& here, const CollectiveRequest& request) const {
  const CollectiveRequest wanted = normalised(request, here.members().size());
  const auto fixed = options_.algorithm.find(request.kind);
  const auto algorithms =
      fixed != options_.algorithm.end() ? std::vector{fixed->second} : candidates(wanted.kind, here.layout());

  std::optional<Candidate> best;
  Seconds least;
  std::vector<std::string_view> objections;
  for (const CommAlgorithm algorithm : algorithms) {
    const CommAlgorithmRow& row = row_of(algorithm);
    if (const std::string_view objection = row.objection(wanted, here.layout()); !objection.empty()) {
      objections.push_back(objection);
      continue;
    }
    for (const Candidate& candidate : here.priced(row, wanted, options_)) {
      const Seconds expected = here.expected(candidate, wanted, options_.profile);
      if (!best || expected < least) {
        best = candidate;
        least = expected;
      }
    }
  }
  if (!best) {
    reject_request(request.kind,
                   objections.size() == algorithms.size()
                       ? fmt::format("{}", fmt::join(objections, "; "))
                       : fmt::format("profile '{}' has no costs for the algorithm and protocol asked for",
                                     options_.profile.name));
  }
  CollectivePlan plan = plan_at(best->price, *best->traffic, *fabric_);
  plan.algorithm = row_of(best->algorithm).name;
  plan.protocol = name_of(best->protocol);
  limit_message(plan, wanted, options_.profile, *fabric_);
  tell_evidence(plan, options_.profile, *fabric_);
  return plan;
}

CommSchedule CollectivePlanner::schedule(const CollectiveRequest& request, std::span<const VertexId> members,
                                         CommAlgorithm algorithm) const {
  check_request(request, members.size());
  const CollectiveRequest wanted = normalised(request, members.size());
  const GroupLayout& layout = own_group(members).layout();
  const CommAlgorithmRow& row = row_of(algorithm);
  if (const std::string_view objection = row.objection(wanted, layout); !objection.empty()) {
    reject_request(request.kind, std::string{objection});
  }
  return row.schedule(wanted, layout);
}

Seconds time_alone(const CollectivePlan& plan, const Fabric& fabric) {
  return plan.latency + plan.size / std::min(plan.rate_cap, rate_of_links(plan, fabric));
}

}  // namespace lockstep
