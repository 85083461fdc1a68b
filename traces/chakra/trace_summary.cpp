#include "traces/chakra/trace_summary.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "traces/chakra/collective_kinds.hpp"
#include "traces/chakra/converted_graph.hpp"
#include "traces/chakra/program_reader.hpp"
#include "traces/chakra/program_trace.hpp"
#include "traces/chakra/record_reader.hpp"
#include "traces/chakra/trace_graph.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::chakra {
namespace {

TraceSummary of_program(const std::filesystem::path& path) {
  const RankProgram read = read_program(path);
  TraceSummary made;
  made.kind = "written by Lockstep";
  made.schema = kProgramSchema;
  made.threads = read.program.threads.size();
  made.streams = read.program.streams.size();
  for (const Program::Thread& thread : read.program.threads) {
    made.host += thread.instructions.size();
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Launch) {
        ++made.kernels;
        const auto* timed = std::get_if<Timed>(&read.program.kernels[instruction.operand].work);
        made.gpu_seconds += timed != nullptr ? timed->duration.in_base_units() : 0;
      } else if (instruction.op == Opcode::Collective) {
        const CollectiveCall& call = read.program.collectives[instruction.operand];
        TraceSummary::Communication& row = made.collectives[std::string{to_string(call.kind)}];
        ++row.count;
        row.bytes += call.size.in_base_units();
      }
    }
  }
  made.nodes = made.host + made.kernels;
  for (const auto& [kind, row] : made.collectives) {
    made.nodes += row.count;
  }
  return made;
}

TraceSummary of_converted(const std::filesystem::path& path) {
  ConvertedTrace trace = read_converted(path);
  const ConvertedGraph graph = graph_of(trace);
  TraceSummary made;
  made.kind = "converted from PyTorch's";
  made.schema = trace.schema;
  made.nodes = trace.nodes.size();
  made.other = trace.nodes.size() - graph.entries.size();
  std::set<double> threads;
  std::set<double> streams;
  for (const ConvertedGraph::Entry& entry : graph.entries) {
    const ConvertedNode& node = trace.nodes[entry.node];
    made.dependencies += entry.needed.size();
    (node.is_cpu ? threads : streams).insert((node.is_cpu ? node.thread : node.stream).value_or(0));
    if (entry.work == ConvertedWork::Host) {
      ++made.host;
    } else if (entry.work == ConvertedWork::Kernel) {
      ++made.kernels;
      made.gpu_seconds += 1e-6 * node.microseconds;
    } else {
      const auto message = message_of(node);
      TraceSummary::Communication& row = made.collectives[std::string{
          to_string(message ? message->kind : *collective_kind(*node.comm_type))}];
      ++row.count;
      row.bytes += node.comm_size.value_or(0);
    }
  }
  made.threads = threads.size();
  made.streams = streams.size();
  made.report = std::move(trace.report);
  return made;
}

TraceSummary of_graph(const std::filesystem::path& path) {
  TraceTables tables;
  TraceGraph graph;
  read_graph(path, tables, graph);
  TraceSummary made;
  made.kind = "GPU work";
  made.nodes = graph.size();
  made.dependencies = graph.dependencies.size();
  bool computes = false;
  bool copies = false;
  for (std::size_t node = 0; node < graph.size(); ++node) {
    if (graph.is_collective(node)) {
      const TraceTables::Call& call = tables.call(graph.call(node));
      TraceSummary::Communication& row = made.collectives[std::string{to_string(call.kind)}];
      ++row.count;
      row.bytes += call.size;
    } else if (graph.is_memory(node)) {
      copies = true;
      ++made.kernels;
    } else {
      computes = true;
      ++made.kernels;
      made.gpu_seconds += 1e-6 * static_cast<double>(graph.microseconds[node]);
    }
  }
  made.streams = (computes ? 1 : 0) + (copies ? 1 : 0) + (made.collectives.empty() ? 0 : 1);
  report_odd(graph, made.report);
  return made;
}

/// JSON of whatever kind begins with a bracket and is not the length of a record.
bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return false;
  }
  return (text[first] == '{' && (text[second] == '"' || text[second] == '}')) ||
         (text[first] == '[' && (text[second] == '{' || text[second] == ']'));
}

}  // namespace

bool is_chakra(const std::filesystem::path& path) {
  try {
    UnpackedBlocks blocks{path.string()};
    const std::string_view text = blocks.next();
    if (is_json(text)) {
      const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
      return !has("\"traceEvents\"") && !has("\"nodes\"") &&
             (has("\"workload_graph\"") || has("\"dataDeps\"") || has("\"ctrlDeps\"") || has("\"attr\""));
    }
    RecordReader file{path};
    std::string_view record;
    return file.next(record) && (is_metadata(record) || is_node_of_2023(record));
  } catch (const InputError&) {
    return false;
  }
}

TraceSummary summarise(const std::filesystem::path& path) {
  ChakraSpec spec;
  spec.chakra = path.filename().string();
  const TraceKind kind = kind_of_traces(spec, path.parent_path());
  TraceSummary made = kind != TraceKind::Graph ? of_program(path)
                      : is_converted(path)     ? of_converted(path)
                                               : of_graph(path);
  made.file = path.string();
  return made;
}

}  // namespace lockstep::chakra
