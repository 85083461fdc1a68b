#include "traces/chakra/trace_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "traces/chakra/collective_kinds.hpp"
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

constexpr std::size_t kMostNodes = 1U << 26U;  // three instructions a node have to fit StreamItem::where

std::string type_name(std::uint64_t type) {
  constexpr std::array kNames{"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                              "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
  return type < kNames.size() ? kNames[type] : fmt::format("{}", type);
}

/// Takes the nodes of one file in.
class GraphReader {
 public:
  GraphReader(TraceTables& tables, TraceGraph& graph) : tables_{tables}, graph_{graph} {
    graph_.ids.clear();
    graph_.what.clear();
    graph_.microseconds.clear();
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
      default:
        throw std::invalid_argument{
            fmt::format("node {} ('{}') is of type {}: compute nodes (COMP_NODE) and collectives "
                        "(COMM_COLL_NODE) are simulated",
                        node.id, node.name, type_name(node.type))};
    }
    graph_.ids.push_back(node.id);
    graph_.what.push_back(what);
    graph_.microseconds.push_back(node.microseconds);
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
    if (node.microseconds == 0 && node.operations > 0) {
      throw std::invalid_argument{fmt::format(
          "node {} ('{}') has no duration (duration_micros) but {} operations: durations come from the trace",
          node.id, node.name, node.operations)};
    }
    return tables_.kind(node.name);
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

void read_graph(const std::filesystem::path& path, TraceTables& tables, TraceGraph& graph,
                LatestTrace* latest) {
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

void report_missing(const TraceGraph& graph, ImportReport& report) {
  report.add(kMissing, fmt::format("node {} on node {}", graph.missing_of, graph.missing_id), graph.missing);
}

}  // namespace lockstep::chakra
