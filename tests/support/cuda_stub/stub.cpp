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
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cublasLt.h"
#include "cuda_runtime.h"
#include "cudnn.h"
#include "nccl.h"
#include "nvtx3/nvToolsExt.h"

namespace lockstep {
float row_cache[1];  // the dynamic shared memory of kernels
}

namespace {

std::mutex device_mutex;
std::condition_variable changed;
thread_local int current_device = 0;
thread_local double host_time = 0;
thread_local std::string range;

/// Something that several streams take part in, or one sends and another receives.
struct Meeting {
  std::string name;  // who meets, and which time
  std::string what;  // the same for all
  int needed = 0, arrived = 0;
  double last = 0;  // arrival
};

struct Work {
  enum Kind { kTakesTime, kRecord, kWait, kMeets } kind = kTakesTime;
  double seconds = 0, issued = 0;
  StubEvent* event = nullptr;
  std::uint64_t version = 0;
  std::vector<Meeting*> meetings;
  bool has_arrived = false;
};

std::list<StubStream*> streams;
std::list<Meeting> meetings;

std::FILE* log_file() {
  static std::FILE* const file = [] {
    const char* name = std::getenv("STUB_LOG");
    return name == nullptr ? nullptr : std::fopen(name, "w");
  }();
  return file;
}

/// One line of the log; device_mutex is held.
void note(const std::string& text) {
  if (std::FILE* const file = log_file()) {
    std::fprintf(file, "%d %s\n", current_device, text.c_str());
    std::fflush(file);
  }
}

[[noreturn]] void give_up(const std::string& reason) {
  std::fprintf(stderr, "stub: %s\n", reason.c_str());
  std::fflush(nullptr);
  std::_Exit(3);
}

}  // namespace

struct StubEvent {
  std::uint64_t issued = 0, done = 0;
  double time = 0;
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

void put(cudaStream_t stream, Work work) {
  work.issued = host_time;
  stream_of(stream).queue.push_back(std::move(work));
  progress();
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

void put_kernel(cudaStream_t stream, const std::string& text) {
  const std::lock_guard lock{device_mutex};
  note(text + (range.empty() ? "" : " in " + label()));
  put(stream, {.seconds = seconds_of_range()});
}

}  // namespace

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

// cuBLASLt

const char* cublasLtGetStatusString(cublasStatus_t) {
  return "stub";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType) {
  *made = new StubMatmul{compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t made,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t) {
  made->operations[attribute] = *static_cast<const cublasOperation_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t) {
  *made = new StubLayout{type, rows, columns};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t made,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    made->batch = *static_cast<const std::int32_t*>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t, const void*,
                                                    std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t*, int* count) {
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void*, const void*,
                              cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t b, const void*,
                              const void*, cublasLtMatrixLayout_t c, void*, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t stream) {
  // By columns: C[c.rows, c.columns] = op(a) op(b). In the row-major words of the table m = c.columns, n =
  // c.rows.
  const bool a_transposed = operation->operations[0] == CUBLAS_OP_T;
  const bool b_transposed = operation->operations[1] == CUBLAS_OP_T;
  const std::uint64_t inner = a_transposed ? a->rows : a->columns;
  if (inner != (b_transposed ? b->columns : b->rows) || c->rows != (a_transposed ? a->columns : a->rows) ||
      c->columns != (b_transposed ? b->rows : b->columns)) {
    give_up("a product of matrices that do not fit");
  }
  put_kernel(stream, "gemm " + std::to_string(c->batch) + " " + std::to_string(c->columns) + " " +
                         std::to_string(c->rows) + " " + std::to_string(inner));
  return CUBLAS_STATUS_SUCCESS;
}

void stub_convolution(cudnnHandle_t handle, int pass, const StubTensor& x, const StubTensor& w,
                      const StubConvolution& c) {
  std::string text = "convolution";
  for (const int size :
       {pass, x.n, x.c, x.h, x.w, w.n, w.h, w.w, c.stride, c.padding_height, c.padding_width}) {
    text += " " + std::to_string(size);
  }
  put_kernel(handle->stream, text);
}

// NCCL, within one process

struct StubGroup {
  std::map<std::string, Meeting*> open;  // by who meets, and which time
};

struct StubCommunicator {
  StubGroup* group;
  int rank, size;
  std::map<std::string, int> calls;  // by kind of meeting: how often
};

namespace {

std::map<std::string, StubGroup> groups;
thread_local int batch_depth = 0;
thread_local std::vector<std::pair<cudaStream_t, std::vector<Meeting*>>> batch;

std::size_t bytes_of(ncclDataType_t type) {
  constexpr std::size_t kBytes[] = {1, 4, 8, 2, 2, 4};
  return kBytes[type];
}

void put_meeting(cudaStream_t stream, Meeting* meeting) {
  if (batch_depth == 0) {
    put(stream, {.kind = Work::kMeets, .meetings = {meeting}});
    return;
  }
  if (batch.empty() || batch.back().first != stream) {
    batch.push_back({stream, {}});
  }
  batch.back().second.push_back(meeting);
}

/// The meeting of this name, which all that come must call alike.
void meet(ncclComm_t communicator, const std::string& who, const std::string& what, int needed,
          cudaStream_t stream, const char* part = "") {
  const std::string key = who + "#" + std::to_string(communicator->calls[who + part]++);
  Meeting*& meeting = communicator->group->open[key];
  if (meeting == nullptr) {
    meeting = &meetings.emplace_back(Meeting{.name = key, .what = what, .needed = needed});
  } else if (meeting->what != what) {
    give_up("members call differently: '" + meeting->what + "' and '" + what + "'");
  }
  put_meeting(stream, meeting);
}

ncclResult_t collective(const char* kind, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  const std::lock_guard lock{device_mutex};
  const std::string text = std::string{kind} + " " + std::to_string(count * bytes_of(type)) + " " +
                           std::to_string(communicator->size) + " " + std::to_string(root);
  note("nccl " + text);
  meet(communicator, "all", text, communicator->size, stream);
  return ncclSuccess;
}

ncclResult_t message(bool sends, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                     cudaStream_t stream) {
  const std::lock_guard lock{device_mutex};
  const int from = sends ? communicator->rank : peer;
  const int to = sends ? peer : communicator->rank;
  const std::string bytes = std::to_string(count * bytes_of(type));
  note(std::string{"nccl "} + (sends ? "send " : "receive ") + bytes + " " +
       std::to_string(communicator->size) + " " + std::to_string(peer));
  if (peer < 0 || peer >= communicator->size) {
    give_up("a message to a rank that is not in the communicator");
  }
  meet(communicator, std::to_string(from) + ">" + std::to_string(to), bytes, 2, stream,
       sends ? "sends" : "receives");
  return ncclSuccess;
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) {
  return "stub";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock{device_mutex};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "id%d", next++);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  const std::lock_guard lock{device_mutex};
  *made = new StubCommunicator{&groups[id.internal], rank, ranks, {}};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t made) {
  delete made;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++batch_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  const std::lock_guard lock{device_mutex};
  if (--batch_depth == 0) {
    for (auto& [stream, together] : batch) {
      put(stream, {.kind = Work::kMeets, .meetings = std::move(together)});
    }
    batch.clear();
  }
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("all_reduce", count, type, 0, communicator, stream);
}
ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("all_gather", count, type, 0, communicator, stream);
}
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t communicator, cudaStream_t stream) {
  return collective("reduce_scatter", count, type, 0, communicator, stream);
}
ncclResult_t ncclBroadcast(const void*, void*, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("broadcast", count, type, root, communicator, stream);
}
ncclResult_t ncclReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return collective("reduce", count, type, root, communicator, stream);
}
ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return message(true, count, type, peer, communicator, stream);
}
ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return message(false, count, type, peer, communicator, stream);
}
