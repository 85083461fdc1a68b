/// @file
/// Calls on the host's clock. A repeat is the mean of some calls one behind the other into a queue with room
/// for them.

#include <map>

#include "calibration/measure/families/empty_kernel.cuh"
#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/hand_over.cuh"

namespace lockstep {
namespace {

using Call = std::function<void()>;

/// Mean time of @p call over 64 calls. Before each 64 the device is idle.
std::unique_ptr<Experiment> each(Call call) {
  return timed_by_itself([call] {
    constexpr int kCalls = 64;
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
    const Seconds begin = host_now();
    for (int i = 0; i < kCalls; ++i) {
      call();
    }
    return (host_now() - begin) / kCalls;
  });
}

/// Time of @p call alone, between what makes it possible and what undoes it.
std::unique_ptr<Experiment> alone(Call before, Call call, Call after) {
  return timed_by_itself([before, call, after] {
    before();
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
    const Seconds begin = host_now();
    call();
    const Seconds time = host_now() - begin;
    after();
    return time;
  });
}

template <int Bytes>
Call launch_with(cudaStream_t stream) {
  return [stream] {
    empty_kernel_with<Bytes><<<1, 1, 0, stream>>>(Arguments<Bytes>{});
    LOCKSTEP_CHECK(cudaGetLastError());
  };
}

Call launch_call(cudaStream_t stream, std::int64_t argument_bytes) {
  switch (argument_bytes) {
    case 64:
      return launch_with<64>(stream);
    case 512:
      return launch_with<512>(stream);
    case 4000:
      return launch_with<4000>(stream);
    default:
      return [stream] { launch_empty_kernel(stream); };
  }
}

/// Calls that put something on the stream and return.
Call queueing_call(const std::string& operation, cudaStream_t stream, std::int64_t size) {
  if (operation == "launch") {
    return launch_call(stream, size);
  }
  const auto event = std::make_shared<Event>(cudaEventDisableTiming);
  if (operation == "event_record") {
    return [=] { LOCKSTEP_CHECK(cudaEventRecord(*event, stream)); };
  }
  if (operation == "stream_wait_event") {
    LOCKSTEP_CHECK(cudaEventRecord(*event, stream));
    return [=] { LOCKSTEP_CHECK(cudaStreamWaitEvent(stream, *event, 0)); };
  }
  const SharedMemory device = device_memory(size);
  const auto bytes = static_cast<std::size_t>(size);
  if (operation == "memset_call") {
    return [=] { LOCKSTEP_CHECK(cudaMemsetAsync(device->as<void>(), 0, bytes, stream)); };
  }
  if (operation == "copy_call") {
    return [=, host = pinned_memory(size)] {
      LOCKSTEP_CHECK(
          cudaMemcpyAsync(device->as<void>(), host->as<void>(), bytes, cudaMemcpyHostToDevice, stream));
    };
  }
  return {};
}

/// Calls that wait for what has happened already.
Call waiting_call(const std::string& operation, cudaStream_t stream) {
  const auto event = std::make_shared<Event>(cudaEventDisableTiming);
  LOCKSTEP_CHECK(cudaEventRecord(*event, stream));
  LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
  const std::map<std::string, Call> calls{
      {"event_query", [=] { LOCKSTEP_CHECK(cudaEventQuery(*event)); }},
      {"event_synchronise", [=] { LOCKSTEP_CHECK(cudaEventSynchronize(*event)); }},
      {"stream_synchronise", [=] { LOCKSTEP_CHECK(cudaStreamSynchronize(stream)); }},
      {"device_synchronise", [] { LOCKSTEP_CHECK(cudaDeviceSynchronize()); }}};
  const auto found = calls.find(operation);
  return found == calls.end() ? Call{} : found->second;
}

std::unique_ptr<Experiment> allocating_call(const std::string& operation, cudaStream_t stream,
                                            std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size);
  const auto address = std::make_shared<void*>(nullptr);
  const Call nothing = [] {};
  const Call allocate = [=] { LOCKSTEP_CHECK(cudaMalloc(address.get(), bytes)); };
  const Call release = [=] { LOCKSTEP_CHECK(cudaFree(*address)); };
  if (operation == "malloc") {
    return alone(nothing, allocate, release);
  }
  if (operation == "free") {
    return alone(allocate, release, nothing);
  }
  if (operation == "malloc_async") {
    cudaMemPool_t pool = nullptr;
    int device = 0;
    LOCKSTEP_CHECK(cudaGetDevice(&device));
    LOCKSTEP_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    std::uint64_t keep_all = UINT64_MAX;
    LOCKSTEP_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
    return alone(
        nothing, [=] { LOCKSTEP_CHECK(cudaMallocAsync(address.get(), bytes, stream)); },
        [=] { LOCKSTEP_CHECK(cudaFreeAsync(*address, stream)); });
  }
  if (operation == "pin") {
    return alone(
        nothing, [=] { LOCKSTEP_CHECK(cudaHostAlloc(address.get(), bytes, cudaHostAllocDefault)); },
        [=] { LOCKSTEP_CHECK(cudaFreeHost(*address)); });
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Experiment> host_call_experiment(const Gpu& gpu, const GridPoint& point) {
  const std::string& operation = point.text("operation");
  const std::int64_t size = point.integer("size");
  if (const Call call = queueing_call(operation, gpu.stream(), size)) {
    return each(call);
  }
  if (const Call call = waiting_call(operation, gpu.stream())) {
    return each(call);
  }
  if (auto experiment = allocating_call(operation, gpu.stream(), size)) {
    return experiment;
  }
  return hand_over_experiment(gpu, operation, static_cast<int>(size));
}

}  // namespace lockstep
