#include "search/sharding/input_costs.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::sharding {

InputCosts::InputCosts(const Fabric& fabric, std::span<const VertexId> gpus,
                       std::vector<BytesPerSecond> alone, Bytes index)
    : alone_{std::move(alone)}, index_{index}, links_of_(gpus.size()) {
  std::map<LinkId, std::vector<std::size_t>> devices_on;
  for (std::size_t device = 0; device < gpus.size(); ++device) {
    for (const LinkId link : fabric.route(fabric.host_memory_of(gpus[device]), gpus[device]).links) {
      devices_on[link].push_back(device);
    }
  }
  for (const auto& [link, devices] : devices_on) {
    const BytesPerSecond rate = fabric.links()[link].bandwidth;
    BytesPerSecond all;
    for (const std::size_t device : devices) {
      all += alone_[device];
    }
    if (rate < all) {  // else it holds up nobody
      add({rate, devices});
    }
  }
  groups_ = grouped();
}

/// The slowest of several links that the same devices share decides.
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
  Seconds longest = alone(device, own);
  for (const std::size_t number : links_of_[device]) {
    const SharedLink& link = links_[number];
    double before = 0;
    for (const std::size_t other : link.devices) {
      before += std::min(own, indices[other]);
    }
    longest = std::max(longest, before * index_ / link.rate);
  }
  return longest - alone(device, own);
}

InputCosts::Groups InputCosts::grouped() const {
  const auto share = [&](std::size_t number) {
    return links_[number].rate / static_cast<double>(links_[number].devices.size());
  };
  std::map<std::size_t, std::size_t> devices_of;  // by link
  Groups groups;
  const auto add_group = [&](BytesPerSecond rate) {
    const bool is_first = groups.together == BytesPerSecond{0};
    groups.slowest = is_first ? rate : std::min(groups.slowest, rate);
    groups.fastest = std::max(groups.fastest, rate);
    groups.together += rate;
  };
  for (std::size_t device = 0; device < links_of_.size(); ++device) {
    const std::vector<std::size_t>& links = links_of_[device];
    const auto scarcest = std::ranges::min_element(links, {}, share);
    if (scarcest == links.end()) {
      add_group(alone_[device]);
    } else if (++devices_of[*scarcest] == 1) {
      add_group(links_[*scarcest].rate);
    }
    groups.most = std::max(groups.most, scarcest == links.end() ? 1 : devices_of[*scarcest]);
  }
  return groups;
}

Seconds InputCosts::at_least(double indices) const {
  return indices * index_ / groups_.together;
}

Seconds InputCosts::sum_at_least(double first, double all) const {
  double waits = 0;
  double left = all;
  for (std::size_t k = 1; k <= groups_.most && left > 0; ++k) {
    const double taken = std::min(first, left);
    waits += static_cast<double>(2 * k - 1) * taken;
    left -= taken;
  }
  return waits * index_ / groups_.fastest;
}

}  // namespace lockstep::sharding
