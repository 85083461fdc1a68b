#include <cstring>
#include <vector>

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/peer_memory.cuh"
#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {
namespace {

/// cudaMemcpy returns when a pageable buffer may be used again, so the host's clock sees what the program
/// waits for.
std::unique_ptr<Experiment> pageable_copy(cudaMemcpyKind direction, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  auto host = std::make_shared<std::vector<char>>(size, 'x');
  const SharedMemory device = device_memory(bytes);
  return timed_by_itself(
      [=] {
        LOCKSTEP_CHECK(cudaDeviceSynchronize());
        const Seconds begin = host_now();
        if (direction == cudaMemcpyHostToDevice) {
          LOCKSTEP_CHECK(cudaMemcpy(device->as<void>(), host->data(), size, direction));
          LOCKSTEP_CHECK(cudaDeviceSynchronize());  // small copies return before they are there
        } else {
          LOCKSTEP_CHECK(cudaMemcpy(host->data(), device->as<void>(), size, direction));
        }
        return host_now() - begin;
      },
      {"host"});
}

std::unique_ptr<Experiment> copy_on_gpu(const Gpu& gpu, SharedMemory to, SharedMemory from) {
  const Launch copy = [to, from](cudaStream_t stream) {
    LOCKSTEP_CHECK(
        cudaMemcpyAsync(to->as<void>(), from->as<void>(), from->bytes(), cudaMemcpyDefault, stream));
  };
  return with_facts(gpu_experiment(gpu, Cache::Cold, copy), {"gpu"});
}

}  // namespace

std::unique_ptr<Experiment> copy_experiment(const Gpu& gpu, const GridPoint& point) {
  const std::string& direction = point.text("direction");
  const std::int64_t bytes = point.integer("bytes");
  const bool to_device = direction == "h2d";
  if (point.text("host_memory") == "pageable") {
    return pageable_copy(to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, bytes);
  }
  const SharedMemory device = device_memory(bytes);
  LOCKSTEP_CHECK(cudaMemset(device->as<void>(), 'x', device->bytes()));
  if (direction == "d2d") {
    return copy_on_gpu(gpu, device_memory(bytes), device);
  }
  if (direction == "p2p") {
    return copy_on_gpu(gpu, memory_of_peer(gpu, static_cast<int>(point.integer("to_gpu")), bytes), device);
  }
  const SharedMemory host = pinned_memory(bytes);
  std::memset(host->as<void>(), 'x', host->bytes());
  return to_device ? copy_on_gpu(gpu, device, host) : copy_on_gpu(gpu, host, device);
}

}  // namespace lockstep
