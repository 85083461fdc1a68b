#include "traces/replay/group_layout.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lockstep::replay {
namespace {

/// `[0, 2, 4, ...]`: PyTorch and our own timelines cut lists after 30 elements.
std::vector<std::uint32_t> leading_numbers(std::string_view list) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t at = list.find('['); at < list.size();) {
    at = list.find_first_not_of(" ,[", at);
    std::uint32_t number = 0;
    if (at == std::string_view::npos) {
      break;
    }
    const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), number);
    if (error != std::errc{}) {
      break;
    }
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - list.data());
  }
  return numbers;
}

/// Distance of members from each other; 0: not said, or not equal.
std::uint32_t distance_of(const StatedGroup& stated) {
  if (stated.ranks.size() < 2 || stated.ranks[1] <= stated.ranks[0]) {
    return 0;
  }
  const std::uint32_t distance = stated.ranks[1] - stated.ranks[0];
  for (std::size_t i = 1; i < stated.ranks.size(); ++i) {
    if (stated.ranks[i] != stated.ranks[i - 1] + distance) {
      return 0;
    }
  }
  return distance;
}

}  // namespace

StatedGroup stated_group(const kineto::RecordedTrace& trace, const kineto::Communication& said) {
  StatedGroup group{said.group_size, leading_numbers(said.ranks)};
  const auto listed = std::ranges::find(trace.groups, said.group, &kineto::ProcessGroupEntry::name);
  if (listed != trace.groups.end() && !said.group.empty()) {
    group.size = group.size > 0 ? group.size : listed->size;
    group.ranks = group.ranks.size() < listed->ranks.size() ? listed->ranks : group.ranks;
  }
  return group;
}

GroupLayout lay_out(const StatedGroup& stated, std::uint32_t ranks) {
  GroupLayout made;
  const auto size = static_cast<std::uint32_t>(std::max<std::int64_t>(stated.size, 0));
  if (size == 0 || size > ranks || ranks % size != 0) {
    return made;
  }
  const std::uint64_t recorded = distance_of(stated);
  made.keeps_distance = recorded > 0 && ranks % (recorded * size) == 0;
  const std::uint32_t distance = made.keeps_distance ? static_cast<std::uint32_t>(recorded) : 1;
  made.groups.resize(ranks / size);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    made.groups[rank / (distance * size) * distance + rank % distance].push_back(rank);
  }
  return made;
}

}  // namespace lockstep::replay
