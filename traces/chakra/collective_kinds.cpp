#include "traces/chakra/collective_kinds.hpp"

#include <array>

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

}  // namespace lockstep::chakra
