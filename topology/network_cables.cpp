#include "topology/network_cables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "topology/drawing.hpp"

namespace lockstep {

SwitchPairs torus_cables(const std::vector<int>& dimensions) {
  if (dimensions.empty() || std::ranges::any_of(dimensions, [](int size) { return size < 1; })) {
    throw std::invalid_argument{"a torus needs 'dimensions' of at least 1, e.g. [4, 4]"};
  }
  SwitchPairs pairs;
  const int switches = std::accumulate(dimensions.begin(), dimensions.end(), 1, std::multiplies{});
  int stride = 1;
  for (auto size = dimensions.rbegin(); size != dimensions.rend(); ++size) {
    for (int from = 0; from < switches; ++from) {
      const int place = std::div(from, stride).quot % *size;
      const int next = (place + 1) % *size;
      if (*size > 2 || place < next) {
        pairs.emplace_back(from, from + (next - place) * stride);
      }
    }
    stride *= *size;
  }
  return pairs;
}

SwitchPairs dragonfly_cables(int switches, int per_group, int global_links) {
  if (per_group < 1 || switches % per_group != 0) {
    throw std::invalid_argument{fmt::format(
        "'leaves_per_group' {} does not divide the {} leaves of this network", per_group, switches)};
  }
  const int groups = std::div(switches, per_group).quot;
  if (std::int64_t{switches} * global_links > kMostDrawn) {
    throw std::invalid_argument{fmt::format("{} leaves with {} 'global_links' each are more than {} cables",
                                            switches, global_links, kMostDrawn)};
  }
  const int ports = per_group * global_links;
  if (groups > 1 && (global_links < 1 || ports % (groups - 1) != 0)) {
    throw std::invalid_argument{
        fmt::format("{} leaves a group with {} 'global_links' each cannot be shared by {} other groups: "
                    "leaves_per_group x global_links must be a multiple of that",
                    per_group, global_links, groups - 1)};
  }
  SwitchPairs pairs;
  for (int from = 0; from < switches; ++from) {
    const int end = (std::div(from, per_group).quot + 1) * per_group;
    for (int to = from + 1; to < end; ++to) {
      pairs.emplace_back(from, to);
    }
  }
  // Port p of a group goes p mod (groups - 1) + 1 groups further, where it ends in the port that leads back.
  for (int group = 0; group < groups && groups > 1; ++group) {
    for (int port = 0; port < ports; ++port) {
      const auto [round, step] = std::div(port, groups - 1);
      const int other = (group + step + 1) % groups;
      const int back = round * (groups - 1) + (groups - 2 - step);
      if (group < other) {
        pairs.emplace_back(group * per_group + std::div(port, global_links).quot,
                           other * per_group + std::div(back, global_links).quot);
      }
    }
  }
  return pairs;
}

}  // namespace lockstep
