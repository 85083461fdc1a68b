#ifdef LOCKSTEP_HAS_NCCL
#include "calibration/measure/families/collective_call.cuh"

#include <stdexcept>

namespace lockstep {
namespace {

void all_to_all(const LocalRank& rank, int ranks, const CollectiveBuffers& b, cudaStream_t stream) {
  const std::size_t part = b.elements / static_cast<std::size_t>(ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t offset = static_cast<std::size_t>(peer) * part;
    LOCKSTEP_CHECK(ncclSend(b.send + offset, part, ncclFloat, peer, rank.communicator, stream));
    LOCKSTEP_CHECK(ncclRecv(b.receive + offset, part, ncclFloat, peer, rank.communicator, stream));
  }
}

void send_receive(const LocalRank& rank, int ranks, const CollectiveBuffers& b, cudaStream_t stream) {
  const int next = (rank.index + 1) % ranks;
  const int before = (rank.index + ranks - 1) % ranks;
  LOCKSTEP_CHECK(ncclSend(b.send, b.elements, ncclFloat, next, rank.communicator, stream));
  LOCKSTEP_CHECK(ncclRecv(b.receive, b.elements, ncclFloat, before, rank.communicator, stream));
}

}  // namespace

void call_collective(const std::string& operation, const LocalRank& rank, int ranks,
                     const CollectiveBuffers& b, cudaStream_t stream) {
  const bool in_place = b.send == b.receive;
  const std::size_t part = b.elements / static_cast<std::size_t>(ranks);
  const std::size_t own = in_place ? static_cast<std::size_t>(rank.index) * part : 0;
  const ncclComm_t comm = rank.communicator;
  if (operation == "all_reduce") {
    LOCKSTEP_CHECK(ncclAllReduce(b.send, b.receive, b.elements, ncclFloat, ncclSum, comm, stream));
  } else if (operation == "all_gather") {
    LOCKSTEP_CHECK(ncclAllGather(b.send + own, b.receive, part, ncclFloat, comm, stream));
  } else if (operation == "reduce_scatter") {
    LOCKSTEP_CHECK(ncclReduceScatter(b.send, b.receive + own, part, ncclFloat, ncclSum, comm, stream));
  } else if (operation == "broadcast") {
    LOCKSTEP_CHECK(ncclBroadcast(b.send, b.receive, b.elements, ncclFloat, 0, comm, stream));
  } else if (operation == "reduce") {
    LOCKSTEP_CHECK(ncclReduce(b.send, b.receive, b.elements, ncclFloat, ncclSum, 0, comm, stream));
  } else if (operation == "all_to_all") {
    all_to_all(rank, ranks, b, stream);
  } else if (operation == "send_recv") {
    send_receive(rank, ranks, b, stream);
  } else {
    throw std::logic_error{"no collective " + operation};
  }
}

}  // namespace lockstep
#endif
