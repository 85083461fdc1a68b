#ifdef LOCKSTEP_HAS_NCCL
#include "calibration/measure/families/communicators.cuh"

namespace lockstep {

void check(ncclResult_t status, const char* call, const char* file, int line) {
  if (status != ncclSuccess) {
    fail(ncclGetErrorString(status), call, file, line);
  }
}

Communicators::Communicators(const Processes& processes, int gpus) : ranks_{processes.count() * gpus} {
  ncclUniqueId id{};
  if (processes.leads()) {
    LOCKSTEP_CHECK(ncclGetUniqueId(&id));
  }
  processes.from_leader(&id, sizeof id);
  connect(id, processes.index_on_node() * gpus, processes.index() * gpus, gpus);
}

Communicators::Communicators(int gpus) : ranks_{gpus} {
  ncclUniqueId id{};
  LOCKSTEP_CHECK(ncclGetUniqueId(&id));
  connect(id, 0, 0, gpus);
}

Communicators::~Communicators() {
  for (const LocalRank& rank : local_) {
    static_cast<void>(ncclCommDestroy(rank.communicator));
  }
}

void Communicators::connect(const ncclUniqueId& id, int first_device, int first_index, int gpus) {
  int current = 0;
  LOCKSTEP_CHECK(cudaGetDevice(&current));
  for (int i = 0; i < gpus; ++i) {
    LOCKSTEP_CHECK(cudaSetDevice(first_device + i));
    local_.push_back({first_device + i, first_index + i, nullptr, std::make_unique<Stream>()});
  }
  LOCKSTEP_CHECK(ncclGroupStart());
  for (LocalRank& rank : local_) {
    LOCKSTEP_CHECK(cudaSetDevice(rank.device));
    LOCKSTEP_CHECK(ncclCommInitRank(&rank.communicator, ranks_, id, rank.index));
  }
  LOCKSTEP_CHECK(ncclGroupEnd());
  LOCKSTEP_CHECK(cudaSetDevice(current));
}

}  // namespace lockstep
#endif
