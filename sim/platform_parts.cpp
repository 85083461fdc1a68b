#include "sim/platform_parts.hpp"

#include <numeric>
#include <stdexcept>

#include "sim/executor.hpp"
#include "sim/folding/fold.hpp"

namespace lockstep {
namespace {

bool is_host(VertexKind kind) {
  return kind == VertexKind::Gpu || kind == VertexKind::CpuSocket;
}

std::vector<LinkId> every_link(const Fabric& fabric) {
  std::vector<LinkId> links(fabric.links().size());
  std::iota(links.begin(), links.end(), LinkId{0});
  return links;
}

std::vector<std::uint32_t> places_of(const std::vector<bool>& marks) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place < marks.size(); ++place) {
    if (marks[place]) {
      places.push_back(place);
    }
  }
  return places;
}

std::vector<LinkId> loaded_links(const Executor& executor) {
  std::vector<bool> loaded(executor.spec().fabric->links().size());
  const auto mark = [&loaded](const CollectivePlan& plan) {
    for (const LinkLoad& load : plan.loads) {
      loaded[load.link] = true;
    }
  };
  for (const Communicator& group : executor.communicators().all()) {
    for (const Communicator::PlanUse& use : group.plans()) {
      mark(use.plan);
    }
  }
  for (const auto& [key, copy] : executor.copies().uses()) {
    mark(copy.plan);
  }
  return places_of(loaded);
}

}  // namespace

RankHome home_of(const Fabric& fabric, VertexId gpu) {
  try {
    return {gpu, fabric.host_memory_of(gpu)};
  } catch (const std::invalid_argument&) {  // a machine that was drawn without CPUs
    return {gpu, gpu};
  }
}

PlatformParts every_part(const Fabric& fabric) {
  std::vector<bool> hosts(fabric.vertices().size());
  for (VertexId vertex = 0; vertex < hosts.size(); ++vertex) {
    hosts[vertex] = is_host(fabric.vertices()[vertex].kind);
  }
  return {places_of(hosts), every_link(fabric)};
}

PlatformParts parts_in_use(const Executor& executor) {
  const Fabric& fabric = *executor.spec().fabric;
  std::vector<bool> hosts(fabric.vertices().size());
  for (const Rank& rank : executor.ranks()) {
    const RankHome home = home_of(fabric, rank.assignment().gpu);
    hosts[home.gpu] = hosts[home.socket] = true;
  }
  return {places_of(hosts), has_uneven_calls(executor.job()) ? every_link(fabric) : loaded_links(executor)};
}

}  // namespace lockstep
