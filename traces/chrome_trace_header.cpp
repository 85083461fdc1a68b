#include "traces/chrome_trace_header.hpp"

#include <fmt/format.h>

#include <iterator>

#include "traces/json_text.hpp"
#include "traces/timeline_text.hpp"

namespace lockstep {
namespace {

/// Writes metadata events, with a comma between two.
class Metadata {
 public:
  explicit Metadata(std::string& text) : text_{text} {}

  void name(std::string_view kind, std::uint64_t pid, std::uint64_t tid, const std::string& name) {
    add(kind, pid, tid, fmt::format(R"("name":{})", json_string(name)));
  }
  void sort_index(std::string_view kind, std::uint64_t pid, std::uint64_t tid, std::uint64_t index) {
    add(kind, pid, tid, fmt::format(R"("sort_index":{})", index));
  }

 private:
  void add(std::string_view kind, std::uint64_t pid, std::uint64_t tid, const std::string& members) {
    fmt::format_to(std::back_inserter(text_),
                   R"({}{{"name":"{}","ph":"M","ts":0.000,"pid":{},"tid":{},"args":{{{}}}}})",
                   first_ ? "" : ",\n", kind, pid, tid, members);
    first_ = false;
  }

  std::string& text_;
  bool first_ = true;
};

void add_lanes(Metadata& metadata, const RankLanes& lanes, const Program& program, const Vertex& gpu) {
  // A rank's host stands directly above its GPU.
  metadata.name("process_name", lanes.host_pid, 0, fmt::format("rank {} host", lanes.rank));
  metadata.sort_index("process_sort_index", lanes.host_pid, 0, 2 * std::uint64_t{lanes.rank});
  for (std::size_t i = 0; i < program.threads.size(); ++i) {
    const std::uint64_t tid = host_tid(lanes, i);
    metadata.name("thread_name", lanes.host_pid, tid,
                  fmt::format("thread {} ({})", i, program.threads[i].name));
    metadata.sort_index("thread_sort_index", lanes.host_pid, tid, i);
  }
  metadata.name(
      "process_name", lanes.gpu_pid, 0,
      fmt::format("rank {} GPU ({}{}{})", lanes.rank, gpu.name, gpu.model.empty() ? "" : ", ", gpu.model));
  metadata.sort_index("process_sort_index", lanes.gpu_pid, 0, 2 * std::uint64_t{lanes.rank} + 1);
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    const std::uint32_t stream = stream_number(program, i);
    metadata.name("thread_name", lanes.gpu_pid, stream,
                  fmt::format("stream {} ({})", stream, program.streams[i]));
    metadata.sort_index("thread_sort_index", lanes.gpu_pid, stream, stream);
  }
}

/// `pid`s of hosts start here, above all GPUs' (which are ranks or device ordinals).
std::uint64_t first_host_pid(std::size_t ranks) {
  std::uint64_t first = 1000;
  while (first < ranks) {
    first *= 10;
  }
  return first;
}

}  // namespace

std::vector<RankLanes> lanes_of(const Job& job, std::span<const Vertex> vertices,
                                std::span<const std::uint32_t> ranks, bool file_per_rank) {
  const std::uint64_t first_pid = first_host_pid(job.ranks.size());
  std::vector<RankLanes> lanes;
  for (const std::uint32_t rank : ranks) {
    const auto device = static_cast<std::uint32_t>(vertices[job.ranks[rank].gpu].index);
    lanes.push_back({rank, first_pid + rank, file_per_rank ? device : rank, device});
  }
  return lanes;
}

std::uint64_t first_pid_of_tracks(std::size_t ranks) {
  return 2 * first_host_pid(ranks);
}

std::uint64_t host_tid(const RankLanes& lanes, std::size_t thread) {
  constexpr std::uint64_t kThreadsOfAProcess = 1000;  // a program has at most 256
  return thread == 0 ? lanes.host_pid : lanes.host_pid * kThreadsOfAProcess + thread;
}

std::string file_opening(const Job& job, std::span<const Vertex> vertices, std::span<const RankLanes> ranks,
                         bool of_a_recording) {
  // HTA looks for the rank in the first bytes, with the pattern "rank":\s+(\d+).
  std::string text = fmt::format(R"({{"schemaVersion":1,
"distributedInfo":{{"backend":"nccl","rank": {},"world_size": {}}},
"displayTimeUnit":"ns","baseTimeNanoseconds":0,"record_shapes":1,"{}":"lockstep",
"deviceProperties":[)",
                                 ranks.empty() ? 0 : ranks.front().rank, job.ranks.size(),
                                 of_a_recording ? "replayed_by" : "simulated_by");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Vertex& gpu = vertices[job.ranks[ranks[i].rank].gpu];
    fmt::format_to(std::back_inserter(text), R"({}{{"id":{},"name":{}}})", i == 0 ? "" : ",\n",
                   ranks[i].gpu_pid, json_string(gpu.model));
  }
  text += "],\n\"traceEvents\":[\n";
  Metadata metadata{text};
  for (const RankLanes& lanes : ranks) {
    const RankAssignment& rank = job.ranks[lanes.rank];
    add_lanes(metadata, lanes, *job.programs[rank.program], vertices[rank.gpu]);
  }
  return text;
}

std::string file_ending(const std::string& name, const std::string& left_out) {
  return fmt::format("\n],\n{}\"traceName\":{}}}\n",
                     left_out.empty() ? "" : fmt::format("\"shown\":{},\n", json_string(left_out)),
                     json_string(name));
}

}  // namespace lockstep
