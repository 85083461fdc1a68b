#include "calibration/measure/families/peer_memory.cuh"

namespace lockstep {

SharedMemory memory_of_peer(const Gpu& gpu, int peer, std::int64_t bytes) {
  int can = 0;
  LOCKSTEP_CHECK(cudaDeviceCanAccessPeer(&can, gpu.device(), peer));
  if (can != 0) {
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
    } else {
      LOCKSTEP_CHECK(status);
    }
  }
  LOCKSTEP_CHECK(cudaSetDevice(peer));
  SharedMemory memory;
  try {
    memory = device_memory(bytes);
  } catch (...) {
    LOCKSTEP_CHECK(cudaSetDevice(gpu.device()));
    throw;
  }
  LOCKSTEP_CHECK(cudaSetDevice(gpu.device()));
  return memory;
}

}  // namespace lockstep
