#include "traces/chakra/node_counts.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/chakra/node_record.hpp"
#include "traces/chakra/program_node.hpp"
#include "traces/chakra/record_reader.hpp"

namespace lockstep::chakra {
namespace {

constexpr double kMostLanes = 256;  // threads, streams

class Counting {
 public:
  explicit Counting(const ProgramAttributes& metadata) {
    for (const std::string& name : metadata.at("streams").texts) {
      counts_.streams.push_back({name, 0});
    }
  }

  void add(const ProgramNode& node, std::vector<std::uint64_t>& needed) {
    ++counts_.nodes;
    const ProgramAttributes& attributes = node.attributes;
    const bool is_host = attributes.number("is_cpu_op") != 0;
    const Lane lane{is_host, attributes.index(is_host ? "tid" : "stream", kMostLanes)};
    lanes_[node.id] = lane;
    std::ranges::sort(needed);
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    for (const std::uint64_t id : needed) {
      edge(lane, id);
    }
    is_host ? host(attributes) : gpu(node, lane.number);
  }

  [[nodiscard]] NodeCounts counts() && { return std::move(counts_); }

 private:
  struct Lane {
    bool is_host = false;
    std::uint32_t number = 0;
  };

  void edge(const Lane& lane, std::uint64_t id) {
    const auto needed = lanes_.find(id);
    if (needed == lanes_.end()) {
      throw WireError{"a node depends on a later one"};
    }
    const Lane& other = needed->second;
    counts_.stream_edges += !lane.is_host && !other.is_host && lane.number != other.number ? 1 : 0;
    counts_.host_edges += lane.is_host && !other.is_host ? 1 : 0;
    counts_.thread_edges += lane.is_host && other.is_host && lane.number != other.number ? 1 : 0;
  }

  void host(const ProgramAttributes& attributes) {
    const std::string_view op = attributes.text("op");
    counts_.operators += op == "range_begin" ? 1 : 0;
    counts_.launches += op == "launch" || op == "collective" ? 1 : 0;
    counts_.stream_waits += op == "stream_wait" ? 1 : 0;
    counts_.host_waits += op.starts_with("wait_") ? 1 : 0;
    counts_.thread_waits += op == "await" ? 1 : 0;
    if (attributes.find("arguments_from") != nullptr) {
      const bool of_profile = attributes.text("arguments_from") == "profile";
      ++(of_profile ? counts_.from_profile : counts_.from_execution_trace);
    }
  }

  void gpu(const ProgramNode& node, std::uint32_t stream) {
    if (stream >= counts_.streams.size()) {
      throw WireError{"a node runs on a stream that the metadata does not list"};
    }
    ++counts_.streams[stream].work;
    counts_.collectives += node.type >= static_cast<std::uint64_t>(NodeType::Send) ? 1 : 0;
  }

  NodeCounts counts_;
  std::unordered_map<std::uint64_t, Lane> lanes_;  // by id
};

}  // namespace

NodeCounts count_nodes(const std::filesystem::path& path) {
  RecordReader file{path};
  std::string_view record;
  if (!file.next(record)) {
    file.reject("no Chakra execution trace: the file is empty");
  }
  try {
    Counting counting{read_metadata(record)};
    ProgramNode node;
    NodeRecord dependencies;
    while (file.next(record)) {
      read_program_node(record, node);
      read_node(record, dependencies);
      counting.add(node, dependencies.dependencies);
    }
    return std::move(counting).counts();
  } catch (const WireError& problem) {
    file.reject(problem.what());
  }
}

}  // namespace lockstep::chakra
