#include "sim/path_shares.hpp"

#include <algorithm>

#include "ops/kernel_model.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {

void PathShares::charge(const std::string& what, PathPart part, double seconds) {
  if (seconds > 0) {
    CriticalShare& share = shares_[what];
    share.what = what;
    share.part = part;
    share.seconds += seconds;
    ++share.pieces;
  }
}

/// Adds to the prediction behind a share. Equal ones have the same @p size: of a kernel, its duration; of a
/// collective, its bytes. Made by @p make at its first piece.
template <class Make>
void PathShares::rest_on(const std::string& what, double size, double seconds, const Make& make) {
  if (seconds > 0) {
    std::vector<PathPrediction>& predictions = shares_[what].predictions;
    const auto [place, fresh] = places_.try_emplace({what, size}, predictions.size());
    if (fresh) {
      predictions.push_back(make());
    }
    predictions[place->second].seconds += seconds;
  }
}

void PathShares::charge_kernel(const Rank& owner, const Instruction& instruction, double seconds) {
  const std::uint32_t kernel = owner.kernel_of(instruction);
  const KernelCall& call = owner.program().kernels[kernel];
  const KernelTiming& timing = owner.timing_of(kernel);
  charge(call.name, PathPart::Kernel, seconds);
  rest_on(call.name, timing.seconds, seconds, [&] {
    const std::string model = model_for(call).name();
    return PathPrediction{model.substr(0, model.find(':')), 0, timing.band, timing.provenance};
  });
}

void PathShares::charge_transfer(std::uint32_t number, const Instruction& instruction, double seconds) {
  const Rank& owner = executor_.rank_for(number);
  const std::uint32_t kernel = owner.kernel_of(instruction);
  const KernelCall& call = owner.program().kernels[kernel];
  charge_kernel(owner, instruction, seconds);
  if (seconds <= 0) {
    return;
  }
  CriticalShare& share = shares_[call.name];
  const bool is_copy = owner.timing_of(kernel).kind == KernelTiming::Kind::Transfer;
  share.part = is_copy ? PathPart::Copy : PathPart::Kernel;
  const VertexId gpu = executor_.job().ranks[number].gpu;
  const auto link = host_links_.bounding(gpu, host_traffic(call), owner.timing_of(kernel).seconds, seconds);
  if (link) {
    share.bottleneck = executor_.spec().fabric->name_of(*link);
  }
  share.over_pcie += is_copy || link ? seconds : 0;
}

void PathShares::charge_collective(std::uint32_t number, const CollectiveCall& call, double seconds) {
  const std::string what = to_string(call.kind);
  charge(what, PathPart::Collective, seconds);
  const Planned planned = planned_for(number, call);
  if (planned.plan == nullptr) {
    return;
  }
  note_bottleneck(shares_[what], planned, seconds);
  rest_on(what, planned.plan->size.in_base_units(), seconds, [&] {
    return PathPrediction{planned.plan->algorithm + " " + planned.plan->protocol, 0, planned.plan->band,
                          planned.plan->provenance};
  });
}

void PathShares::note_operation(const std::string& what, const std::string& operation) {
  if (const auto share = shares_.find(what); share != shares_.end()) {
    share->second.operation = operation;
  }
}

PathShares::Planned PathShares::planned_for(std::uint32_t number, const CollectiveCall& call) {
  if (const Folding* folding = executor_.spec().folding; folding != nullptr) {
    const TrafficGroup& group = folding->traffic().group_of(executor_.job(), number, call);
    const TrafficCall* planned = group.find(call);
    return planned == nullptr ? Planned{} : Planned{&planned->plan, &group.shapes[planned->shape].loads};
  }
  const Membership member = is_pair(call.kind) ? executor_.pair(executor_.rank_for(number), call)
                                               : executor_.rank_for(number).memberships()[call.group];
  const CollectivePlan* plan = member.group->find_plan(call);
  return plan == nullptr ? Planned{} : Planned{plan, &plan->loads};
}

void PathShares::note_bottleneck(CriticalShare& share, const Planned& planned, double seconds) const {
  const CollectivePlan& plan = *planned.plan;
  const LinkLoad* worst = nullptr;
  double longest = 0;
  const auto links = executor_.spec().fabric->links();
  for (const LinkLoad& load : *planned.loads) {
    const double time = load.share / links[load.link].bandwidth.in_base_units();
    if (time > longest * (1 + 1e-9)) {
      longest = time;
      worst = &load;
    }
  }
  if (worst == nullptr) {
    share.bottleneck = {};
    return;
  }
  // A plan's own bound includes what no protocol gets out of a link: only well below it is it the
  // protocol's doing.
  constexpr double kProtocolBelow = 0.7;
  const bool by_cap = longest * plan.rate_cap.in_base_units() < kProtocolBelow;
  share.bottleneck = by_cap ? plan.protocol + " protocol" : executor_.spec().fabric->name_of(worst->link);
  share.over_pcie += !by_cap && links[worst->link].kind == LinkKind::Pcie ? seconds : 0;
}

std::vector<CriticalShare> PathShares::take() {
  std::vector<CriticalShare> shares;
  for (auto& [what, share] : shares_) {
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.seconds > b.seconds; });
  return shares;
}

}  // namespace lockstep
