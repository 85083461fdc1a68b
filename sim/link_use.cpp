#include "sim/link_use.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {
namespace {

class Sums {
 public:
  explicit Sums(const Fabric& fabric) : bytes_(fabric.links().size(), 0.0) {}

  void add(std::span<const LinkLoad> loads, Bytes size, std::uint64_t uses) {
    for (const LinkLoad& load : loads) {
      bytes_[load.link] += load.sent() * size.in_base_units() * static_cast<double>(uses);
    }
  }

  [[nodiscard]] std::vector<LinkUse> used() const {
    std::vector<LinkUse> links;
    for (LinkId link = 0; link < bytes_.size(); ++link) {
      if (bytes_[link] > 0) {
        links.push_back({link, bytes_[link]});
      }
    }
    return links;
  }

 private:
  std::vector<double> bytes_;
};

void add_all(const Executor& executor, Sums& sums) {
  for (std::size_t group = 0; group < executor.job().groups.size(); ++group) {
    for (const auto& use : executor.communicators().all()[group].plans()) {
      sums.add(use.plan.loads, use.plan.size, use.uses);
    }
  }
  for (const auto& [ends, pair] : executor.communicators().pairs()) {
    std::vector<const Communicator::PlanUse*> uses;  // made in the order of time: sorted as they are foreseen
    for (const auto& use : pair->plans()) {
      uses.push_back(&use);
    }
    std::ranges::sort(uses, {}, [](const auto* use) {
      return std::pair{use->request.size, use->request.type};
    });
    for (const auto* use : uses) {
      sums.add(use->plan.loads, use->plan.size, use->uses);
    }
  }
  for (const auto& [key, copy] : executor.copies().uses()) {
    sums.add(copy.plan.loads, copy.plan.size, copy.uses);
  }
}

void add_group(const Executor& executor, const Folding& folding, std::size_t index, Sums& sums) {
  const TrafficGroup& group = folding.traffic().groups[index];
  const auto& uses = executor.communicators().all()[folding.class_of_group(index)].plans();
  auto use = uses.begin();
  for (const TrafficCall& call : group.calls) {
    sums.add(group.shapes[call.shape].loads, call.plan.size, (use++)->uses);
  }
}

void add_copies(const Executor& executor, const Folding& folding, std::uint32_t rank, Sums& sums) {
  const Rank& simulated = executor.rank_for(rank);
  const VertexId gpu = simulated.assignment().gpu;
  const std::uint32_t program = simulated.assignment().program;
  const auto& kernels = simulated.program().kernels;
  const auto& copies = executor.copies().uses();
  for (auto copy = copies.lower_bound({gpu, program, 0});
       copy != copies.end() && copy->first[0] == gpu && copy->first[1] == program; ++copy) {
    const HostTraffic traffic = host_traffic(kernels[copy->first[2]]);
    for (const TrafficPart& part : parts_of(traffic)) {
      sums.add(loads_of(folding.traffic().copies[rank].route(part.path)), part.share * traffic.total(),
               copy->second.uses);
    }
  }
}

void add_folded(const Executor& executor, const Folding& folding, Sums& sums) {
  for (std::size_t group = 0; group < executor.job().groups.size(); ++group) {
    add_group(executor, folding, group, sums);
  }
  for (const auto& [ends, pair] : folding.traffic().pair_of) {
    add_group(executor, folding, pair, sums);
  }
  std::map<VertexId, std::uint32_t> rank_of;
  for (std::uint32_t rank = 0; rank < executor.job().ranks.size(); ++rank) {
    rank_of.emplace(executor.job().ranks[rank].gpu, rank);
  }
  for (const auto& [gpu, rank] : rank_of) {
    add_copies(executor, folding, rank, sums);
  }
}

}  // namespace

std::vector<LinkUse> link_use(const Executor& executor) {
  Sums sums{*executor.spec().fabric};
  if (const Folding* folding = executor.spec().folding; folding != nullptr) {
    add_folded(executor, *folding, sums);
  } else {
    add_all(executor, sums);
  }
  return sums.used();
}

}  // namespace lockstep
