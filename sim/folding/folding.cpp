#include "sim/folding/folding.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace lockstep {

Folding::Folding(const Job& job, const Fabric& fabric, JobTraffic traffic,
                 const std::vector<std::uint32_t>& rank_kinds, bool share_links)
    : job_{job},
      traffic_{std::move(traffic)},
      classes_{equitable_partition(job, fabric, traffic_, rank_kinds, share_links)} {
  seat_groups();
  load_groups(fabric, share_links);
  load_copies(share_links);
}

Folding::Kind Folding::kind_of(std::uint32_t rank, std::uint32_t group) const {
  const auto& slots = job_.ranks[rank].groups;
  return {class_of(rank), static_cast<std::uint32_t>(std::ranges::find(slots, group) - slots.begin())};
}

void Folding::seat_groups() {
  positions_.resize(classes_.groups.count());
  for (std::size_t index = 0; index < classes_.groups.count(); ++index) {
    Group& group = groups_.emplace_back();
    group.original = classes_.groups.first[index];
    const TrafficGroup& original = traffic_.groups[group.original];
    for (const std::uint32_t rank : original.ranks) {
      const auto position = static_cast<std::uint32_t>(group.ranks.size());
      if (original.is_pair || positions_[index].try_emplace(kind_of(rank, original.group), position).second) {
        group.ranks.push_back(representatives()[class_of(rank)]);
      }
    }
  }
}

Folding::Seat Folding::seat(std::uint32_t rank, std::uint32_t slot) const {
  const std::uint32_t group = job_.ranks[rank].groups[slot];
  const std::uint32_t kind = class_of_group(group);
  return {kind, positions_[kind].at(kind_of(rank, group))};
}

std::uint32_t Folding::member_like(std::uint32_t rank, std::uint32_t slot, const TrafficGroup& group) const {
  const Kind kind = kind_of(rank, job_.ranks[rank].groups[slot]);
  return *std::ranges::find_if(group.ranks, [&](std::uint32_t member) {
    return class_of(member) == kind.first && kind_of(member, group.group) == kind;
  });
}

std::vector<LinkLoad> Folding::lone_loads(const std::vector<LinkLoad>& loads, const Fabric& fabric) const {
  std::set<std::tuple<double, double, double>> known;
  std::vector<LinkLoad> told;
  std::ranges::copy_if(loads, std::back_inserter(told), [&](const LinkLoad& load) {
    const double bandwidth = fabric.links()[load.link].bandwidth.in_base_units();
    return known.insert({bandwidth, load.share, load.efficiency}).second || represents(load.link);
  });
  return told;
}

void Folding::load_groups(const Fabric& fabric, bool share_links) {
  std::vector<std::vector<std::vector<LinkLoad>>> loads(groups_.size());  // by class and shape
  for (std::size_t index = 0; index < traffic_.groups.size(); ++index) {
    const auto& shapes = traffic_.groups[index].shapes;
    const std::uint32_t group = class_of_group(index);
    loads[group].resize(shapes.size());
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      if (share_links && traffic_.groups[index].is_lone) {
        loads[group][shape] = lone_loads(shapes[shape].loads, fabric);
        continue;
      }
      std::ranges::copy_if(shapes[shape].loads, std::back_inserter(loads[group][shape]),
                           [&](const LinkLoad& load) {
                             return share_links ? represents(load.link) : groups_[group].original == index;
                           });
    }
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (std::vector<LinkLoad>& of_shape : loads[group]) {
      std::ranges::stable_sort(of_shape, {}, &LinkLoad::link);
    }
    const TrafficGroup& original = traffic_.groups[groups_[group].original];
    for (const TrafficCall& call : original.calls) {
      CollectivePlan& plan = groups_[group].plans.emplace_back(call.plan);
      plan.edges = {{0, 1, original.shapes[call.shape].unit}};
      plan.loads = loads[group][call.shape];
    }
  }
}

void Folding::load_copies(bool share_links) {
  copy_loads_.resize(representatives().size());
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    const std::uint32_t kind = class_of(rank);
    const bool counts = share_links || representatives()[kind] == rank;
    const TrafficCopies& copies = traffic_.copies[rank];
    for (std::size_t direction = 0; counts && direction < 2; ++direction) {
      const auto& route = direction == 0 ? copies.to_device : copies.to_host;
      if (!route) {
        continue;
      }
      for (const LinkId link : route->links) {
        if (!share_links || represents(link)) {
          copy_loads_[kind][direction][link] += 1;
        }
      }
    }
  }
}

std::vector<LinkLoad> Folding::copy_loads(std::uint32_t rank, Memcpy::Path path) const {
  std::vector<LinkLoad> loads;
  for (const auto& [link, weight] : copy_loads_[class_of(rank)][path == Memcpy::Path::HostToDevice ? 0 : 1]) {
    loads.push_back({link, weight});
  }
  return loads;
}

}  // namespace lockstep
