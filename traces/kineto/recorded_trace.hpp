#pragma once

/// @file
/// What PyTorch's profiler (Kineto) recorded of one rank, as the file says it: nothing inferred. Times are
/// nanoseconds since the epoch of the file (or of its baseTimeNanoseconds).

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/import_report.hpp"

namespace lockstep::kineto {

using Nanoseconds = std::int64_t;
using NameId = std::uint32_t;

/// Equal texts once. Number 0 is the empty text.
class NameTable {
 public:
  NameTable() { (void)number(""); }
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  ~NameTable() = default;
  [[nodiscard]] NameId number(std::string_view text);
  [[nodiscard]] const std::string& text(NameId number) const { return texts_[number]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // whose addresses stay
  std::unordered_map<std::string_view, NameId> numbers_;
};

/// The kind of a CUDA or HIP runtime call, as far as it matters here.
enum class CallKind : std::uint8_t {
  Launch,       ///< a kernel, copy or memset on a stream
  GraphLaunch,  ///< many at once
  EventRecord,
  StreamWait,  ///< cudaStreamWaitEvent
  EventSync,
  StreamSync,
  DeviceSync,
  Memory,  ///< cudaMalloc, cudaFree and the like, which may wait for the device
  Other,   ///< takes host time only
};
[[nodiscard]] CallKind call_kind(std::string_view runtime_name);

/// A host thread of the traced process.
struct Thread {
  std::int64_t pid = 0;
  std::string tid;
  std::string name;
};

/// A host range: an operator, or an annotation of the user or of PyTorch.
struct Operator {
  Nanoseconds start = 0, end = 0;
  NameId name = 0;
  std::uint32_t thread = 0;
  bool is_annotation = false;
  std::int64_t external_id = -1, record_function_id = -1, sequence_number = -1;
  NameId input_dims = 0, input_types = 0, concrete_inputs = 0;  ///< JSON text as written; 0: not recorded
};

/// A runtime (or driver) call.
struct Call {
  Nanoseconds start = 0, end = 0;
  NameId name = 0;
  std::uint32_t thread = 0;
  CallKind kind = CallKind::Other;
  std::int64_t correlation = -1, external_id = -1;
};

enum class WorkKind : std::uint8_t { Kernel, Memcpy, Memset };

/// A piece of work of a GPU on a stream.
struct Work {
  Nanoseconds start = 0, end = 0;
  NameId name = 0;
  std::int32_t stream = 0, device = 0;  ///< of several nodes' ranks in one file, devices repeat
  std::int64_t pid = 0;                 ///< process that the file shows it under
  WorkKind kind = WorkKind::Kernel;
  std::int64_t correlation = -1, external_id = -1;
  double bytes = 0;                 ///< copies and memsets
  std::int32_t communication = -1;  ///< index into RecordedTrace::communications
  [[nodiscard]] Nanoseconds duration() const { return end - start; }
};

/// Arguments of a communication kernel (PyTorch 2.3 and later).
struct Communication {
  std::string collective, type, group, group_description;
  std::int64_t in_elements = -1, out_elements = -1, group_size = -1;
  std::int64_t peer = -1;                    ///< of a send or receive: rank of the other end
  std::string in_splits, out_splits, ranks;  ///< JSON text
};

/// CUPTI's synchronisation records, where they were asked for (enable_cuda_sync_events).
struct CudaSync {
  Nanoseconds start = 0, end = 0;
  NameId kind = 0;  ///< "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"
  std::int32_t stream = -1, awaited_stream = -1;
  std::int64_t correlation = -1, record_correlation = -1;  ///< -1: not known
};

/// Forward to backward of an operator ("fwdbwd").
struct ForwardBackward {
  Nanoseconds forward = -1, backward = -1;
  std::uint32_t forward_thread = 0, backward_thread = 0;
};

/// An event of which only the time, or of GPU work the record, is missing. It is in no list.
struct LostEvent {
  enum class Kind : std::uint8_t { Operator, Call, Work };
  Kind kind = Kind::Work;
  NameId name = 0;        ///< of work without a record: of the call that launched it
  Nanoseconds near = -1;  ///< about when: start of its launch, or of what stands before it; -1: unknown
  std::int64_t correlation = -1;  ///< with the call or the work; -1: not said
  std::int64_t pid = 0;
  std::string track;  ///< `thread 1`, `stream 7`
};

struct ProcessGroupEntry {
  std::string name, description;
  std::int64_t size = -1;
  std::vector<std::uint32_t> ranks;  ///< empty: all
};

struct RecordedTrace {
  std::string file;
  NameTable names;
  std::vector<Thread> threads;
  std::vector<Operator> operators;  ///< by thread and start; longer first
  std::vector<Call> calls;          ///< by thread and start
  std::vector<Work> work;           ///< by device, stream and start
  std::vector<Communication> communications;
  std::vector<CudaSync> syncs;
  std::vector<ForwardBackward> forward_backward;
  std::vector<LostEvent> lost;
  std::vector<ProcessGroupEntry> groups;
  std::map<std::int64_t, std::string> processes;  ///< names by pid, where the file says them
  std::vector<std::string> gpu_names;             ///< of deviceProperties
  std::vector<std::int64_t> multiprocessors;      ///< beside gpu_names; -1: not said
  std::vector<std::int64_t> gpu_memory;           ///< likewise, bytes
  std::int64_t compute_major = -1;                ///< of compute capability, the newest; -1: not said
  std::int64_t rank = -1, world_size = -1;
  std::string backend;
  /// Options of torch.profiler.profile that record more than times, as the file names them (`record_shapes`)
  /// or as its events show: each makes what the host does longer.
  std::set<std::string> observers;
  bool is_simulated = false;  ///< a timeline of `lockstep run`: nothing was recorded, no profiler took time
  std::uint64_t events = 0;   ///< that the file holds
  ImportReport report;
};

}  // namespace lockstep::kineto
