#include "calibration/measure/families/hand_over.cuh"

#include "calibration/measure/families/empty_kernel.cuh"

namespace lockstep {
namespace {

constexpr int kChain = 64;             // kernels behind each other
constexpr Seconds kTimeToQueue{2e-3};  // in which the host can queue some chains of them

__global__ void tell_host(volatile int* flag, int value) {
  *flag = value;
}

/// From before the launch until the host sees what the kernel wrote first, into its own memory: over the bus
/// and back.
std::unique_ptr<Experiment> launch_to_start(cudaStream_t stream) {
  const SharedMemory flag = pinned_memory(sizeof(int));
  *flag->as<volatile int>() = 0;
  return timed_by_itself([=, value = 0]() mutable {
    LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
    volatile int* const told = flag->as<volatile int>();
    ++value;
    const Seconds begin = host_now();
    tell_host<<<1, 1, 0, stream>>>(told, value);
    LOCKSTEP_CHECK(cudaGetLastError());
    constexpr Seconds kPatience{1};
    while (*told != value) {
      if (host_now() - begin > kPatience) {
        LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
        fail("the kernel did not tell the host", "tell_host", __FILE__, __LINE__);
      }
    }
    return host_now() - begin;
  });
}

std::unique_ptr<Experiment> launch_and_synchronise(cudaStream_t stream) {
  return timed_by_itself([stream] {
    LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
    const Seconds begin = host_now();
    launch_empty_kernel(stream);
    LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
    return host_now() - begin;
  });
}

/// Time on the GPU of what @p queue puts on the stream while the stream is kept busy.
std::unique_ptr<Experiment> queued_behind(const Gpu& gpu, Launch queue, int parts) {
  const auto begin = std::make_shared<Event>();
  const auto end = std::make_shared<Event>();
  return timed_by_itself([=, &gpu] {
    gpu.keep_busy(gpu.stream(), kTimeToQueue);
    LOCKSTEP_CHECK(cudaEventRecord(*begin, gpu.stream()));
    queue(gpu.stream());
    LOCKSTEP_CHECK(cudaEventRecord(*end, gpu.stream()));
    LOCKSTEP_CHECK(cudaStreamSynchronize(gpu.stream()));
    return between(*begin, *end) / parts;
  });
}

void queue_chain(cudaStream_t stream) {
  for (int i = 0; i < kChain; ++i) {
    launch_empty_kernel(stream);
  }
}

/// A kernel here, one there that waits for it, one here that waits for that, ...
Launch ping_pong() {
  struct Ends {
    Stream other;
    Event here{cudaEventDisableTiming};
    Event there{cudaEventDisableTiming};
  };
  return [ends = std::make_shared<Ends>()](cudaStream_t stream) {
    for (int i = 0; i < kChain / 2; ++i) {
      launch_empty_kernel(stream);
      LOCKSTEP_CHECK(cudaEventRecord(ends->here, stream));
      LOCKSTEP_CHECK(cudaStreamWaitEvent(ends->other, ends->here, 0));
      launch_empty_kernel(ends->other);
      LOCKSTEP_CHECK(cudaEventRecord(ends->there, ends->other));
      LOCKSTEP_CHECK(cudaStreamWaitEvent(stream, ends->there, 0));
    }
  };
}

/// A captured chain of empty kernels.
class Graph {
 public:
  Graph(cudaStream_t stream, int kernels) {
    LOCKSTEP_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; ++i) {
      launch_empty_kernel(stream);
    }
    LOCKSTEP_CHECK(cudaStreamEndCapture(stream, &graph_));
    LOCKSTEP_CHECK(cudaGraphInstantiate(&executable_, graph_, 0));
    LOCKSTEP_CHECK(cudaGraphUpload(executable_, stream));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    static_cast<void>(cudaGraphExecDestroy(executable_));
    static_cast<void>(cudaGraphDestroy(graph_));
  }
  void launch(cudaStream_t stream) const { LOCKSTEP_CHECK(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

std::unique_ptr<Experiment> graph_launch(cudaStream_t stream, int kernels) {
  return timed_by_itself([stream, graph = std::make_shared<Graph>(stream, kernels)] {
    LOCKSTEP_CHECK(cudaStreamSynchronize(stream));
    const Seconds begin = host_now();
    graph->launch(stream);
    return host_now() - begin;
  });
}

}  // namespace

std::unique_ptr<Experiment> hand_over_experiment(const Gpu& gpu, const std::string& operation, int size) {
  const cudaStream_t stream = gpu.stream();
  if (operation == "launch_to_start") {
    return launch_to_start(stream);
  }
  if (operation == "launch_and_synchronise") {
    return launch_and_synchronise(stream);
  }
  if (operation == "kernel_to_kernel") {
    return queued_behind(gpu, queue_chain, kChain);
  }
  if (operation == "kernel_between_events") {
    return queued_behind(gpu, launch_empty_kernel, 1);
  }
  if (operation == "events_alone") {
    return queued_behind(
        gpu, [](cudaStream_t) {}, 1);
  }
  if (operation == "stream_to_stream") {
    return queued_behind(gpu, ping_pong(), kChain);
  }
  if (operation == "graph_launch") {
    return graph_launch(stream, size);
  }
  if (operation == "graph_kernel_to_kernel") {
    return queued_behind(
        gpu, [graph = std::make_shared<Graph>(stream, size)](cudaStream_t to) { graph->launch(to); }, size);
  }
  throw std::logic_error{"no host call " + operation};
}

}  // namespace lockstep
