/// @file
/// The device of the stub: streams are queues that a virtual clock goes through. What meets must meet alike,
/// and what never meets ends the program with exit code 3.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nvtx3/nvToolsExt.h"
#include "stub.hpp"

namespace lockstep {
float row_cache[1];  // the dynamic shared memory of kernels
}

std::mutex stub::device_mutex;

namespace {

using stub::device_mutex;
using stub::give_up;
using stub::Meeting;
using stub::note;
using stub::put;
using stub::put_kernel;
using stub::Work;

std::condition_variable changed;
thread_local int current_device = 0;
thread_local double host_time = 0;
thread_local std::string range;

std::list<StubStream*> streams;

std::FILE* log_file() {
  static std::FILE* const file = [] {
    const char* name = std::getenv("STUB_LOG");
    return name == nullptr ? nullptr : std::fopen(name, "w");
  }();
  return file;
}

}  // namespace

void stub::note(const std::string& text) {
  if (std::FILE* const file = log_file()) {
    std::fprintf(file, "%d %s\n", current_device, text.c_str());
    std::fflush(file);
  }
}

void stub::give_up(const std::string& reason) {
  std::fprintf(stderr, "stub: %s\n", reason.c_str());
  std::fflush(nullptr);
  std::_Exit(3);
}

struct StubEvent {
  std::uint64_t issued = 0, done = 0;
  double time = 0;
};

/// Kernels and calls of NCCL in a CUDA graph, in the order of their capture.
struct StubGraph {
  std::vector<std::function<void(cudaStream_t)>> nodes;
};

struct StubStream {
  std::deque<Work> queue;
  double time = 0;
  int device = 0;
};

namespace {

StubStream default_stream;

StubStream& stream_of(cudaStream_t stream) {
  return stream == nullptr ? default_stream : *stream;
}

/// Does what the first work of a stream asks for. @return false: it waits for others
bool step(StubStream& stream) {
  Work& work = stream.queue.front();
  const double start = std::max(stream.time, work.issued);
  switch (work.kind) {
    case Work::kTakesTime:
      stream.time = start + work.seconds;
      break;
    case Work::kRecord:
      stream.time = start;
      if (work.version > work.event->done) {  // a later record, on another stream, may have been faster
        work.event->time = start;
        work.event->done = work.version;
      }
      break;
    case Work::kWait:
      if (work.event->done < work.version) {
        return false;
      }
      stream.time = std::max(start, work.event->time);
      break;
    case Work::kMeets: {
      bool all = true;
      double end = start;
      for (Meeting* const meeting : work.meetings) {
        if (!work.has_arrived) {
          ++meeting->arrived;
          meeting->last = std::max(meeting->last, start);
        }
        all = all && meeting->arrived == meeting->needed;
        end = std::max(end, meeting->last);
      }
      work.has_arrived = true;
      if (!all) {
        return false;
      }
      stream.time = end;
      break;
    }
  }
  stream.queue.pop_front();
  return true;
}

void progress() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (StubStream* const stream : streams) {
      while (!stream->queue.empty()) {
        const bool arrived = stream->queue.front().has_arrived;
        if (!step(*stream)) {
          goes_on = goes_on || arrived != stream->queue.front().has_arrived;
          break;
        }
        goes_on = true;
      }
    }
    while (!default_stream.queue.empty() && step(default_stream)) {
    }
  }
  changed.notify_all();
}

/// The operations that the streams wait for when nothing can go on.
void tell_streams() {
  for (const StubStream* const stream : streams) {
    if (stream->queue.empty()) {
      continue;
    }
    const Work& work = stream->queue.front();
    std::fprintf(stderr, "a stream of rank %d waits for %s", stream->device,
                 work.kind == Work::kWait ? "an event " : "");
    for (const Meeting* const meeting : work.meetings) {
      std::fprintf(stderr, "[%s, %s: %d of %d] ", meeting->name.c_str(), meeting->what.c_str(),
                   meeting->arrived, meeting->needed);
    }
    std::fprintf(stderr, "with %zu behind it\n", stream->queue.size() - 1);
  }
}

template <class Condition>
void wait_for(std::unique_lock<std::mutex>& lock, const Condition& condition, const char* what) {
  if (!changed.wait_for(lock, std::chrono::seconds{20}, condition)) {
    tell_streams();
    give_up(std::string{"deadlock: a host thread waits for "} + what);
  }
}

/// The name of the range around a launch: `kernel 12: NAME, 3.5 us`.
double seconds_of_range() {
  const std::size_t comma = range.rfind(',');
  return comma == std::string::npos ? 0 : 1e-6 * std::atof(range.c_str() + comma + 1);
}

std::string label() {
  return range.substr(0, range.find(':'));
}

/// A graph that this thread captures, or nothing.
thread_local StubGraph* capture = nullptr;

}  // namespace

void stub::put(cudaStream_t stream, Work work) {
  if (capture != nullptr) {
    return;  // a graph's kernels follow each other, whatever their events say
  }
  work.issued = host_time;
  stream_of(stream).queue.push_back(std::move(work));
  progress();
}

void stub::put_kernel(cudaStream_t stream, const std::string& text) {
  const std::lock_guard lock{device_mutex};
  const std::string line = text + (range.empty() ? "" : " in " + label());
  if (capture != nullptr) {
    capture->nodes.emplace_back([line, seconds = seconds_of_range()](cudaStream_t origin) {
      note(line);
      put(origin, {.seconds = seconds});
    });
    return;
  }
  note(line);
  put(stream, {.seconds = seconds_of_range()});
}

bool stub::captured(const std::function<void(cudaStream_t)>& call) {
  if (capture == nullptr) {
    return false;
  }
  capture->nodes.push_back(call);
  return true;
}

namespace benchmark {  // in place of clock.cu
double host_now() {
  return host_time;
}
double wait_until(double moment) {
  const double late = host_time - moment;
  host_time = std::max(host_time, moment);
  return late > 0 ? late : 0;
}
}  // namespace benchmark

int nvtxRangePushA(const char* message) {
  range = message;
  return 0;
}
int nvtxRangePop() {
  range.clear();
  return 0;
}

const char* cudaGetErrorString(cudaError_t) {
  return "stub";
}
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  return 0;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "stub");
  properties->multiProcessorCount = 132;
  properties->l2CacheSize = 50 << 20;
  return 0;
}
cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  *unused = 0;
  *total = 80ULL << 30U;
  return 0;
}
cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  static std::size_t next = 1ULL << 40U;  // of memory that is not there
  const std::lock_guard lock{device_mutex};
  *address = reinterpret_cast<void*>(next);
  next += (bytes + 511) / 512 * 512;
  note("malloc " + std::to_string(bytes));
  return 0;
}
cudaError_t cudaFree(void*) {
  return 0;
}
cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  *address = std::malloc(bytes);
  return 0;
}
cudaError_t cudaFreeHost(void* address) {
  std::free(address);
  return 0;
}
cudaError_t cudaMemset(void*, int, std::size_t) {
  return 0;
}
cudaError_t cudaMemcpy(void*, const void*, std::size_t, cudaMemcpyKind) {
  return 0;
}
cudaError_t cudaMemsetAsync(void*, int, std::size_t bytes, cudaStream_t stream) {
  put_kernel(stream, "memset " + std::to_string(bytes));
  return 0;
}
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  put_kernel(stream, "memcpy " + std::to_string(int{kind}) + " " + std::to_string(bytes));
  return 0;
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  put_kernel(stream, "kernel");
  return 0;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock{device_mutex};
  *stream = new StubStream{.device = current_device};
  streams.push_back(*stream);
  return 0;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock{device_mutex};
  streams.remove(stream);
  delete stream;
  return 0;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  std::unique_lock lock{device_mutex};
  StubStream& waited = stream_of(stream);
  wait_for(
      lock, [&] { return waited.queue.empty(); }, "a stream");
  host_time = std::max(host_time, waited.time);
  return 0;
}
cudaError_t cudaDeviceSynchronize() {
  std::unique_lock lock{device_mutex};
  const auto is_over = [](const StubStream* stream) {
    return stream->device != current_device || stream->queue.empty();
  };
  wait_for(
      lock, [&] { return std::all_of(streams.begin(), streams.end(), is_over); }, "its device");
  return 0;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock{device_mutex};
  put(stream, {.kind = Work::kWait, .event = event, .version = event->issued});
  return 0;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new StubEvent;
  return 0;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return 0;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock{device_mutex};
  put(stream, {.kind = Work::kRecord, .event = event, .version = ++event->issued});
  return 0;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock{device_mutex};
  const std::uint64_t version = event->issued;
  wait_for(
      lock, [&] { return event->done >= version; }, "an event");
  host_time = std::max(host_time, event->time);
  return 0;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  *milliseconds = static_cast<float>(1e3 * (second->time - first->time));
  return 0;
}

// CUDA graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  capture = new StubGraph;
  return 0;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(capture, nullptr);
  return 0;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = graph;
  return 0;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const std::lock_guard lock{device_mutex};
  note("graph " + std::to_string(graph->nodes.size()));
  for (const auto& node : graph->nodes) {
    node(stream);
  }
  return 0;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return 0;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return 0;
}
