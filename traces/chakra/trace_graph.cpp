#include "traces/chakra/trace_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "traces/chakra/collective_kinds.hpp"
#include "traces/chakra/converted_nodes.hpp"
#include "traces/chakra/graph_order.hpp"
#include "traces/chakra/latest_trace.hpp"
#include "traces/chakra/node_record.hpp"
#include "traces/chakra/record_reader.hpp"
#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {
namespace {

constexpr Oddity kMissing{"dependency on a node that the file has not",
                          "deleted by whoever converted the trace, or never written; nothing is waited for",
                          Severity::Warning};

constexpr Oddity kDerived{"duration from operations and bytes",
                          "the longer of num_ops at the GPU's peak of 16 bits and tensor_size at its memory "
                          "bandwidth: no kernel is shorter, most are longer",
                          Severity::Guess};

constexpr std::size_t kMostNodes = 1U << 26U;  // three instructions a node have to fit StreamItem::where

std::string type_name(std::uint64_t type) {
  constexpr std::array kNames{"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                              "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
  return type < kNames.size() ? kNames[type] : fmt::format("{}", type);
}

/// Takes the nodes of one file in.
class GraphReader {
  static constexpr double kMostWork = 1e30;  // operations, or bytes: beyond every machine
  static constexpr double kMostRanks = 1e9;

 public:
  GraphReader(TraceTables& tables, TraceGraph& graph) : tables_{tables}, graph_{graph} {
    graph_.ids.clear();
    graph_.what.clear();
    graph_.microseconds.clear();
    graph_.operations.clear();
    graph_.bytes.clear();
    graph_.has_messages = false;
    graph_.first_dependency.assign(1, 0);
    graph_.groups.clear();
    graph_.missing = graph_.missing_of = graph_.missing_id = 0;
    wanted_.reserve(graph_.dependencies.capacity());
  }

  /// @return whether the graph has it now: metadata stay out
  /// @throws std::invalid_argument
  bool add(const NodeRecord& node) {
    if (graph_.size() == kMostNodes) {
      throw std::invalid_argument{fmt::format("more than {} nodes", kMostNodes)};
    }
    std::uint32_t what = 0;
    switch (static_cast<NodeType>(std::min<std::uint64_t>(node.type, 0xff))) {
      case NodeType::Metadata:
        without_work_.push_back(node.id);
        return false;
      case NodeType::Compute:
        what = compute(node);
        break;
      case NodeType::Collective:
        what = collective(node) | TraceGraph::kCollective;
        break;
      case NodeType::Send:
      case NodeType::Receive:
        what = message(node) | TraceGraph::kCollective;
        graph_.has_messages = true;
        break;
      case NodeType::MemLoad:
      case NodeType::MemStore:
        what = memory(node);
        break;
      default:
        throw std::invalid_argument{
            fmt::format("node {} ('{}') is of type {}: compute nodes (COMP_NODE), copies (MEM_LOAD_NODE, "
                        "MEM_STORE_NODE), collectives (COMM_COLL_NODE) and messages (COMM_SEND_NODE, "
                        "COMM_RECV_NODE) are simulated",
                        node.id, node.name, type_name(node.type))};
    }
    graph_.ids.push_back(node.id);
    graph_.what.push_back(what);
    graph_.microseconds.push_back(node.microseconds);
    note_work(node);
    wanted_.insert(wanted_.end(), node.dependencies.begin(), node.dependencies.end());
    graph_.first_dependency.push_back(static_cast<std::uint32_t>(wanted_.size()));
    return true;
  }

  void finish() {
    std::sort(without_work_.begin(), without_work_.end());
    put_in_order(graph_, wanted_, without_work_);
  }

 private:
  std::uint32_t compute(const NodeRecord& node) {
    if (node.is_cpu) {
      throw std::invalid_argument{
          fmt::format("node {} ('{}') runs on the CPU (is_cpu_op): traces of GPU work alone are simulated",
                      node.id, node.name)};
    }
    return tables_.kind(node.name);
  }

  /// Operations and bytes matter where a node has no duration: most traces keep none of them.
  void note_work(const NodeRecord& node) {
    const bool is_timed_by_them = node.microseconds == 0 && (node.operations > 0 || node.bytes > 0);
    if (graph_.operations.empty() && !is_timed_by_them) {
      return;
    }
    for (const double number : {node.operations, node.bytes}) {
      if (!(number >= 0 && number < kMostWork)) {
        throw std::invalid_argument{
            fmt::format("node {} ('{}') has {} operations (num_ops) and {} bytes (tensor_size)", node.id,
                        node.name, node.operations, node.bytes)};
      }
    }
    graph_.operations.resize(graph_.ids.size(), 0);
    graph_.bytes.resize(graph_.ids.size(), 0);
    graph_.operations.back() = node.operations;
    graph_.bytes.back() = node.bytes;
  }

  std::uint32_t memory(const NodeRecord& node) {
    if (!(node.bytes > 0 && node.bytes < kMostWork)) {
      throw std::invalid_argument{fmt::format("node {} ('{}') is a copy ({}) without its bytes (tensor_size)",
                                              node.id, node.name, type_name(node.type))};
    }
    graph_.operations.resize(graph_.ids.size() + 1, 0);  // its bytes are noted, whatever its duration
    graph_.bytes.resize(graph_.ids.size() + 1, 0);
    return TraceGraph::kMemory | (static_cast<NodeType>(node.type) == NodeType::MemStore ? 1U : 0U);
  }

  std::uint32_t message(const NodeRecord& node) {
    const bool sends = static_cast<NodeType>(node.type) == NodeType::Send;
    const auto reject = [&](const std::string& why) {
      throw std::invalid_argument{
          fmt::format("node {} ('{}') is a {} {}", node.id, node.name, sends ? "send" : "receive", why)};
    };
    if (!(sends ? node.target : node.source)) {
      reject(sends ? "without its receiver (comm_dst)" : "without its sender (comm_src)");
    }
    if (!node.comm_size || !(*node.comm_size > 0 && std::isfinite(*node.comm_size))) {
      reject("without a size above 0 (comm_size, in bytes)");
    }
    const auto rank_of = [&](const std::optional<double>& said) {
      if (said && !(*said >= 0 && *said < kMostRanks)) {
        reject(fmt::format("between ranks of which one is {}", *said));
      }
      return said ? static_cast<std::uint32_t>(*said) : TraceTables::kItself;
    };
    const double tag = node.tag.value_or(0);
    if (!(std::abs(tag) <= std::numeric_limits<std::int32_t>::max())) {
      reject(fmt::format("with tag {}", tag));
    }
    return tables_.number_of({.kind = sends ? CollectiveKind::Send : CollectiveKind::Receive,
                              .group = 0,
                              .size = *node.comm_size,
                              .source = rank_of(node.source),
                              .target = rank_of(node.target),
                              .tag = static_cast<std::int32_t>(tag)});
  }

  std::uint32_t collective(const NodeRecord& node) {
    const auto reject = [&](const std::string& why) {
      throw std::invalid_argument{fmt::format("node {} ('{}') is a collective {}", node.id, node.name, why)};
    };
    if (!node.comm_type) {
      reject("without its kind (comm_type)");
    }
    const std::optional<CollectiveKind> kind = collective_kind(*node.comm_type);
    if (!kind) {
      reject(
          fmt::format("of comm_type {}, which is not simulated: 0 all-reduce, 1 reduce, 2 all-gather, 5 "
                      "broadcast, 6 all-to-all, 7 and 8 reduce-scatter, 9 barrier are",
                      *node.comm_type));
    }
    const bool has_size = node.comm_size && *node.comm_size > 0 && std::isfinite(*node.comm_size);
    if (*kind != CollectiveKind::Barrier && !has_size) {
      reject("without a size above 0 (comm_size, in bytes)");
    }
    if (node.skips_dimensions) {
      reject(
          "of some dimensions of the network only (involved_dim): name its members by a process group "
          "(pg_name)");
    }
    return tables_.number_of({.kind = *kind,
                              .group = group(node.group == "0" ? std::string_view{} : node.group),
                              .size = has_size ? *node.comm_size : 0});
  }

  std::uint32_t group(std::string_view name) {
    const auto known = std::find(graph_.groups.begin(), graph_.groups.end(), name);
    const auto number = static_cast<std::uint32_t>(known - graph_.groups.begin());
    if (known == graph_.groups.end()) {
      graph_.groups.emplace_back(name);
    }
    return number;
  }

  TraceTables& tables_;
  TraceGraph& graph_;
  std::vector<std::uint64_t> wanted_;
  std::vector<std::uint64_t> without_work_;
};

}  // namespace

namespace {

/// The record of a node of a JSON trace, whose views point into the node. Durations of fractions of a
/// microsecond are rounded.
NodeRecord record_of(const ConvertedNode& node) {
  NodeRecord record;
  record.id = node.id;
  record.name = node.name;
  record.type = static_cast<std::uint64_t>(node.type);
  record.microseconds = static_cast<std::uint64_t>(std::llround(std::max(node.microseconds, 0.0)));
  record.dependencies = node.data;
  record.dependencies.insert(record.dependencies.end(), node.control.begin(), node.control.end());
  record.is_cpu = node.is_cpu;
  record.operations = node.operations;
  record.bytes = node.bytes;
  record.comm_type = node.comm_type;
  record.comm_size = node.comm_size;
  record.source = node.source;
  record.target = node.target;
  record.tag = node.tag;
  record.group = node.group;
  return record;
}

/// JSON can only begin with a brace, or be packed.
bool may_be_json(const std::filesystem::path& path) {
  constexpr int kBrace = '{';
  constexpr int kGzip = 0x1f;
  const int first = std::ifstream{path, std::ios::binary}.get();
  return first == kBrace || first == kGzip;
}

void read_json_graph(const std::filesystem::path& path, TraceTables& tables, TraceGraph& graph) {
  GraphReader reader{tables, graph};
  try {
    const ConvertedTrace trace = read_converted(path);
    for (const ConvertedNode& node : trace.nodes) {
      (void)reader.add(record_of(node));
    }
    reader.finish();
  } catch (const std::invalid_argument& problem) {
    throw InputError{{path.string()}, problem.what()};
  }
}

}  // namespace

void read_graph(const std::filesystem::path& path, TraceTables& tables, TraceGraph& graph,
                LatestTrace* latest) {
  if (may_be_json(path) && is_json_trace(path)) {
    read_json_graph(path, tables, graph);
    return;
  }
  if (latest != nullptr) {
    if (latest->read_alike(path, graph)) {
      return;
    }
    latest->begin();
  }
  RecordReader file{path};
  std::string_view record;
  const bool has_records = file.next(record);
  if (has_records && is_node_of_2023(record)) {
    file.reject(
        "a Chakra execution trace of schema 0.0.1 (2023): its nodes have other fields and a time without a "
        "unit; write it anew with Chakra 0.0.4 or later, from the PyTorch traces that it came from");
  }
  if (!has_records || !is_metadata(record)) {
    file.reject("no Chakra execution trace (schema 0.0.4 or later): the file does not begin with metadata");
  }
  GraphReader reader{tables, graph};
  NodeRecord node;
  const auto remember = [&](const NodeRecord* known) {
    if (latest != nullptr) {
      latest->add(record, known);
    }
  };
  remember(nullptr);
  while (file.next(record)) {
    try {
      read_node(record, node);
      remember(reader.add(node) ? &node : nullptr);
    } catch (const WireError& problem) {
      file.reject(fmt::format("the record is no node of a Chakra trace: {}", problem.what()));
    } catch (const std::invalid_argument& problem) {
      file.reject(problem.what());
    }
  }
  try {
    reader.finish();
  } catch (const std::invalid_argument& problem) {
    file.expect_whole();
    throw InputError{{path.string()}, problem.what()};
  }
  if (latest != nullptr) {
    latest->finish(graph);
  }
}

void report_odd(const TraceGraph& graph, ImportReport& report) {
  report.add(kMissing, fmt::format("node {} on node {}", graph.missing_of, graph.missing_id), graph.missing);
  std::uint64_t derived = 0;
  std::uint64_t first = 0;
  for (std::size_t node = graph.size(); node-- > 0;) {
    derived += graph.is_derived(node) ? 1 : 0;
    first = graph.is_derived(node) ? graph.ids[node] : first;
  }
  report.add(kDerived, fmt::format("node {}", first), derived);
}

}  // namespace lockstep::chakra
