#include "traces/chakra/collective_kinds.hpp"

#include <array>
#include <stdexcept>

namespace lockstep::chakra {

std::optional<CollectiveKind> collective_kind(double comm_type) {
  using enum CollectiveKind;
  constexpr std::array<std::optional<CollectiveKind>, 10> kKinds{AllReduce,
                                                                 Reduce,
                                                                 AllGather,
                                                                 std::nullopt /* gather */,
                                                                 std::nullopt /* scatter */,
                                                                 Broadcast,
                                                                 AllToAll,
                                                                 ReduceScatter,
                                                                 ReduceScatter,
                                                                 Barrier};
  const bool is_known = comm_type >= 0 && comm_type < static_cast<double>(kKinds.size());
  return is_known ? kKinds[static_cast<std::size_t>(comm_type)] : std::nullopt;
}

std::int64_t comm_type_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 0;
    case CollectiveKind::Reduce:
      return 1;
    case CollectiveKind::AllGather:
      return 2;
    case CollectiveKind::Broadcast:
      return 5;
    case CollectiveKind::AllToAll:
      return 6;
    case CollectiveKind::ReduceScatter:
      return 7;
    case CollectiveKind::Barrier:
      return 9;
    case CollectiveKind::Send:
    case CollectiveKind::Receive:
      break;
  }
  throw std::logic_error{"a message has no comm_type"};
}

}  // namespace lockstep::chakra
