#include "ops/collectives/collective.hpp"

#include <stdexcept>

namespace lockstep {

std::string to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::AllToAll:
      return "all_to_all";
    case CollectiveKind::Broadcast:
      return "broadcast";
    case CollectiveKind::Reduce:
      return "reduce";
    case CollectiveKind::Send:
      return "send";
    case CollectiveKind::Receive:
      return "receive";
    case CollectiveKind::Barrier:
      return "barrier";
  }
  throw std::logic_error("to_string: unknown CollectiveKind");
}

}  // namespace lockstep
