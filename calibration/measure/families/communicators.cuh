#pragma once

#include <nccl.h>

#include <memory>
#include <vector>

#include "calibration/measure/gpu.cuh"
#include "calibration/measure/processes.cuh"

namespace lockstep {

void check(ncclResult_t status, const char* call, const char* file, int line);

/// One GPU of this process in a communicator.
struct LocalRank {
  int device;
  int index;  ///< in the communicator
  ncclComm_t communicator = nullptr;
  std::unique_ptr<Stream> stream;
};

/// A communicator over the first @p ranks GPUs of this process, or over all GPUs of all processes.
class Communicators {
 public:
  /// Over @p gpus GPUs of each of @p processes. @throws CudaError
  Communicators(const Processes& processes, int gpus);
  /// Over the first @p gpus GPUs of this process. @throws CudaError
  explicit Communicators(int gpus);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  [[nodiscard]] const std::vector<LocalRank>& local() const { return local_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  void connect(const ncclUniqueId& id, int first_device, int first_index, int gpus);

  int ranks_;
  std::vector<LocalRank> local_;
};

}  // namespace lockstep
