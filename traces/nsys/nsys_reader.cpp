#include "traces/nsys/nsys_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "traces/kineto/kineto_members.hpp"
#include "traces/nsys/database.hpp"

namespace lockstep::nsys {
namespace {

using kineto::Operator;
using kineto::RecordedTrace;
using kineto::Work;
using kineto::WorkKind;

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kSyncs = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";

constexpr Oddity kAssumedRank{
    "rank of a process",
    "an export of Nsight Systems does not say ranks: the number in the file's name, or the order "
    "of processes, is taken",
    Severity::Guess};
constexpr Oddity kNoEnd{"range without an end", "an NVTX range that did not end is left out",
                        Severity::Warning};
constexpr Oddity kMark{"NVTX mark", "a moment is no range, and is left out", Severity::Note};
constexpr Oddity kBackwards{"event that ends before it starts", "it is left out", Severity::Warning};

/// globalTid has the hardware and the machine in its upper 16 bits, the process in 24 and the thread in 24.
constexpr std::int64_t kThreads = 0x1000000;
std::int64_t process_of(std::int64_t global) {
  return global / kThreads % kThreads;
}

/// `cudaLaunchKernel_v7000` without the version.
std::string without_version(std::string name) {
  const auto mark = name.rfind("_v");
  const bool is_version = mark != std::string::npos && mark + 2 < name.size() &&
                          std::all_of(name.begin() + static_cast<std::ptrdiff_t>(mark) + 2, name.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
  if (is_version) {
    name.resize(mark);
  }
  return name;
}

/// CUpti_ActivityMemcpyKind, in the words that Kineto uses.
std::string copy_name(std::int64_t kind) {
  constexpr int kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kPeerToPeer = 10;
  switch (kind) {
    case kHostToDevice:
      return "Memcpy HtoD (Pinned -> Device)";
    case kDeviceToHost:
      return "Memcpy DtoH (Device -> Pinned)";
    case kDeviceToDevice:
      return "Memcpy DtoD (Device -> Device)";
    case kPeerToPeer:
      return "Memcpy PtoP (Device -> Device)";
    default:
      return "Memcpy";
  }
}

/// CUpti_ActivitySynchronizationType, in Kineto's words.
std::string sync_name(std::int64_t kind) {
  constexpr int kEvent = 1, kStreamWait = 2, kStream = 3, kContext = 4;
  switch (kind) {
    case kEvent:
      return "Event Sync";
    case kStreamWait:
      return "Stream Wait Event";
    case kStream:
      return "Stream Sync";
    case kContext:
      return "Context Sync";
    default:
      return "";
  }
}

/// The number behind `rank` in a file's name.
std::optional<std::int64_t> rank_in_name(const std::string& file) {
  std::string name = std::filesystem::path{file}.filename().string();
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto at = name.find("rank");
  if (at == std::string::npos) {
    return std::nullopt;
  }
  at += 4;
  while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) == 0 && name[at] != '.') {
    ++at;
  }
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), rank);
  return error == std::errc{} ? std::optional{rank} : std::nullopt;
}

class NsysReader {
 public:
  explicit NsysReader(const std::string& file) : database_{file} {}

  std::vector<RecordedTrace> read() {
    names();
    kernels();
    copies(kCopies, WorkKind::Memcpy);
    copies(kMemsets, WorkKind::Memset);
    std::erase_if(traces_, [](const auto& entry) { return entry.second.work.empty(); });
    if (traces_.empty()) {
      throw InputError{
          {database_.file()},
          "an export of Nsight Systems without work of a GPU: record with `nsys profile --trace=cuda,nvtx`"};
    }
    calls();
    ranges();
    syncs();
    return finish();
  }

 private:
  void names() {
    if (database_.has_table("StringIds")) {
      database_.each("SELECT id, value FROM StringIds",
                     [this](const Row& row) { strings_[row.number(0)] = row.text(1); });
    }
    if (database_.has_table("ThreadNames")) {
      database_.each("SELECT globalTid, nameId FROM ThreadNames",
                     [this](const Row& row) { thread_names_[row.number(0)] = string(row.number(1)); });
    }
  }

  [[nodiscard]] std::string string(std::int64_t id) const {
    const auto found = strings_.find(id);
    return found == strings_.end() ? "" : found->second;
  }

  RecordedTrace& trace_of(std::int64_t global) { return traces_[process_of(global)]; }

  /// The trace of a process that has GPU work, null for another.
  RecordedTrace* known(std::int64_t global) {
    const auto found = traces_.find(process_of(global));
    return found == traces_.end() ? nullptr : &found->second;
  }

  static std::int64_t event_of(RecordedTrace& trace, const Row& row) {
    ++trace.events;
    return row.number(1) - row.number(0);
  }

  void kernels() {
    if (!database_.has_table(kKernels)) {
      return;
    }
    const std::string name =
        database_.columns(kKernels).contains("demangledName") ? "demangledName" : "shortName";
    database_.each(fmt::format("SELECT start, end, deviceId, streamId, correlationId, globalPid, {} FROM {}",
                               name, kKernels),
                   [this](const Row& row) { add_work(row, string(row.number(6)), WorkKind::Kernel, 0); });
  }

  void copies(const char* table, WorkKind kind) {
    if (!database_.has_table(table)) {
      return;
    }
    const bool is_copy = kind == WorkKind::Memcpy;
    database_.each(
        fmt::format("SELECT start, end, deviceId, streamId, correlationId, globalPid, bytes, {} FROM {}",
                    is_copy ? "copyKind" : "0", table),
        [&](const Row& row) {
          const std::string name = is_copy ? copy_name(row.number(7)) : "Memset (Device)";
          add_work(row, name, kind, static_cast<double>(row.number(6)));
        });
  }

  void add_work(const Row& row, const std::string& name, WorkKind kind, double bytes) {
    RecordedTrace& trace = trace_of(row.number(5));
    if (event_of(trace, row) < 0) {
      trace.report.add(kBackwards, name);
      return;
    }
    Work made;
    made.start = row.number(0);
    made.end = row.number(1);
    made.name = trace.names.number(name);
    made.device = static_cast<std::int32_t>(row.number(2));
    made.stream = static_cast<std::int32_t>(row.number(3));
    made.correlation = row.is_null(4) ? -1 : row.number(4);
    made.pid = process_of(row.number(5));
    made.kind = kind;
    made.bytes = bytes;
    trace.work.push_back(made);
  }

  std::uint32_t thread(RecordedTrace& trace, std::int64_t global) {
    const auto [entry, is_new] =
        threads_.try_emplace(global, static_cast<std::uint32_t>(trace.threads.size()));
    if (is_new) {
      const auto name = thread_names_.find(global);
      trace.threads.push_back({process_of(global), std::to_string(global % kThreads),
                               name == thread_names_.end() ? "" : name->second});
    }
    return entry->second;
  }

  void calls() {
    if (!database_.has_table(kCalls)) {
      return;
    }
    database_.each(
        fmt::format("SELECT start, end, globalTid, correlationId, nameId FROM {} ORDER BY start", kCalls),
        [this](const Row& row) {
          RecordedTrace* trace = known(row.number(2));
          if (trace == nullptr || event_of(*trace, row) < 0) {
            return;
          }
          const std::string name = without_version(string(row.number(4)));
          trace->calls.push_back({row.number(0), row.number(1), trace->names.number(name),
                                  thread(*trace, row.number(2)), kineto::call_kind(name), row.number(3), -1});
        });
  }

  /// Push and pop, start and end; PyTorch's have names such as `aten::mm, seq = 12, op_id = 40`.
  void ranges() {
    if (!database_.has_table("NVTX_EVENTS")) {
      return;
    }
    const bool has_ids = database_.columns("NVTX_EVENTS").contains("textId");
    database_.each(
        fmt::format(
            "SELECT start, end, globalTid, eventType, text, {} FROM NVTX_EVENTS WHERE globalTid IS NOT NULL "
            "ORDER BY start",
            has_ids ? "textId" : "NULL"),
        [this](const Row& row) { range(row); });
  }

  void range(const Row& row) {
    constexpr std::int64_t kMarkType = 34, kPushPop = 59,
                           kStartEnd = 60;  // NvtxPushPopRange, NvtxStartEndRange
    RecordedTrace* trace = known(row.number(2));
    const std::int64_t type = row.number(3);
    if (trace == nullptr || (type != kMarkType && type != kPushPop && type != kStartEnd)) {
      return;
    }
    std::string name = row.is_null(4) || row.text(4).empty() ? string(row.number(5)) : row.text(4);
    if (type == kMarkType || row.is_null(1)) {
      trace->report.add(type == kMarkType ? kMark : kNoEnd, name);
      return;
    }
    ++trace->events;
    Operator made;
    made.start = row.number(0);
    made.end = row.number(1);
    made.thread = thread(*trace, row.number(2));
    const auto sequence = name.find(", seq = ");
    made.is_annotation = sequence == std::string::npos && name.find("::") == std::string::npos;
    if (sequence != std::string::npos) {
      constexpr std::size_t kLead = 8;
      std::from_chars(name.data() + sequence + kLead, name.data() + name.size(), made.sequence_number);
      name.resize(sequence);
    } else if (const auto id = name.find(", op_id = "); id != std::string::npos) {
      name.resize(id);
    }
    made.name = trace->names.number(name);
    trace->operators.push_back(made);
  }

  void syncs() {
    if (!database_.has_table(kSyncs)) {
      return;
    }
    database_.each(
        fmt::format("SELECT start, end, globalPid, streamId, correlationId, syncType FROM {}", kSyncs),
        [this](const Row& row) {
          RecordedTrace* trace = known(row.number(2));
          const std::string kind = sync_name(row.number(5));
          if (trace != nullptr && !kind.empty()) {
            trace->syncs.push_back({row.number(0), row.number(1), trace->names.number(kind),
                                    static_cast<std::int32_t>(row.number(3)), -1, row.number(4), -1});
          }
        });
  }

  /// Name, multiprocessors and memory of GPUs, by number.
  void gpus(RecordedTrace& trace) const {
    if (!database_.has_table("TARGET_INFO_GPU")) {
      return;
    }
    const auto columns = database_.columns("TARGET_INFO_GPU");
    const auto column = [&](const char* name) { return columns.contains(name) ? name : "NULL"; };
    database_.each(fmt::format("SELECT name, {}, {}, {} FROM TARGET_INFO_GPU ORDER BY id", column("smCount"),
                               column("totalMemory"), column("computeMajor")),
                   [&](const Row& row) {
                     trace.gpu_names.push_back(row.text(0));
                     trace.multiprocessors.push_back(row.is_null(1) ? -1 : row.number(1));
                     trace.gpu_memory.push_back(row.is_null(2) ? -1 : row.number(2));
                     trace.compute_major = std::max(trace.compute_major, row.is_null(3) ? -1 : row.number(3));
                   });
  }

  std::vector<RecordedTrace> finish() {
    std::vector<RecordedTrace> all;
    const auto processes = static_cast<std::int64_t>(traces_.size());
    for (auto& [process, trace] : traces_) {
      trace.file = database_.file();
      gpus(trace);
      const auto number = static_cast<std::int64_t>(all.size());
      const auto named = rank_in_name(database_.file());
      trace.rank = processes == 1 ? named.value_or(0) : named.value_or(0) * processes + number;
      if (processes > 1) {
        trace.world_size = processes;
      }
      trace.report.add(kAssumedRank, fmt::format("process {} is rank {}", process, trace.rank));
      kineto::shift_and_sort(trace, 0);
      all.push_back(std::move(trace));
    }
    return all;
  }

  Database database_;
  std::map<std::int64_t, std::string> strings_, thread_names_;
  std::map<std::int64_t, RecordedTrace> traces_;   ///< by process
  std::map<std::int64_t, std::uint32_t> threads_;  ///< by globalTid: number in its trace
};

}  // namespace

bool is_nsys(const std::string& file) {
  const Database database{file};
  return database.has_table("StringIds") &&
         (database.has_table(kKernels) || database.has_table(kCalls) || database.has_table("NVTX_EVENTS"));
}

std::vector<RecordedTrace> read_nsys(const std::string& file) {
  return NsysReader{file}.read();
}

}  // namespace lockstep::nsys
