#include "search/sharding/input_costs.hpp"

#include <algorithm>
#include <map>

namespace lockstep::sharding {

InputCosts::InputCosts(const Fabric& fabric, std::span<const VertexId> gpus, BytesPerSecond alone,
                       Bytes index)
    : alone_{alone}, index_{index}, links_of_(gpus.size()) {
  std::map<LinkId, std::vector<std::size_t>> devices_on;
  for (std::size_t device = 0; device < gpus.size(); ++device) {
    for (const LinkId link : fabric.route(fabric.host_memory_of(gpus[device]), gpus[device]).links) {
      devices_on[link].push_back(device);
    }
  }
  for (const auto& [link, devices] : devices_on) {
    const BytesPerSecond rate = fabric.links()[link].bandwidth;
    if (rate < static_cast<double>(devices.size()) * alone) {  // else it holds up nobody
      add({rate, devices});
    }
  }
}

/// Of links that the same devices share, the slowest decides.
void InputCosts::add(SharedLink link) {
  const auto known = std::ranges::find(links_, link.devices, &SharedLink::devices);
  if (known != links_.end()) {
    known->rate = std::min(known->rate, link.rate);
    return;
  }
  for (const std::size_t device : link.devices) {
    links_of_[device].push_back(links_.size());
  }
  links_.push_back(std::move(link));
}

Seconds InputCosts::held_up(std::size_t device, std::span<const double> indices) const {
  const double own = indices[device];
  Seconds longest = alone(own);
  for (const std::size_t number : links_of_[device]) {
    const SharedLink& link = links_[number];
    double before = 0;
    for (const std::size_t other : link.devices) {
      before += std::min(own, indices[other]);
    }
    longest = std::max(longest, before * index_ / link.rate);
  }
  return longest - alone(own);
}

}  // namespace lockstep::sharding
