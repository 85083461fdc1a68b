#include "topology/degrade.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "topology/name_pattern.hpp"

namespace lockstep {

Fabric with_faults(const Fabric& fabric, std::span<const LinkFault> faults) {
  std::vector<Link> links{fabric.links().begin(), fabric.links().end()};
  std::vector<std::string> names;
  names.reserve(links.size());
  for (LinkId link = 0; link < links.size(); ++link) {
    names.push_back(fabric.name_of(link));
  }
  const NamedPlaces named{std::move(names)};
  for (const LinkFault& fault : faults) {
    fault.check();
    for (const std::size_t place : named.of(fault.links)) {
      links[place].bandwidth = links[place].bandwidth * fault.bandwidth;
      links[place].latency += fault.extra_latency;
    }
  }
  return {{fabric.vertices().begin(), fabric.vertices().end()}, std::move(links)};
}

}  // namespace lockstep
