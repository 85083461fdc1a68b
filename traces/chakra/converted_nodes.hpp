#pragma once

/// @file
/// Chakra traces that converters made of recordings: PyTorch's host operators and the kernels that they
/// launched, with recorded durations, in the wire format or as JSON.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra/node_record.hpp"
#include "traces/import_report.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::chakra {

struct ConvertedNode {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::Invalid;
  double microseconds = 0;
  std::vector<std::uint64_t> data, control;  ///< ids
  bool is_cpu = false;
  std::optional<double> thread, stream;  ///< `tid` (an ordinal, or of old converters a stream), `stream`
  std::optional<double> comm_type, comm_size;  ///< CollectiveCommType; bytes
  std::optional<double> source, target, tag;   ///< comm_src, comm_dst: ranks; comm_tag
  double operations = 0, bytes = 0;            ///< num_ops, tensor_size
  std::string group;                           ///< pg_name
};

struct ConvertedTrace {
  std::string file;
  std::uint32_t rank = 0;  ///< of the job
  std::string schema;      ///< of the metadata: that of PyTorch's execution trace
  std::vector<ConvertedNode> nodes;
  std::vector<kineto::ProcessGroupEntry> groups;  ///< of the node ## process_group:init ##
  ImportReport report;
};

/// Takes one attribute of a node in, whatever kind it is of.
/// @param number empty where it is a text
void take_attribute(std::string_view name, std::optional<double> number, std::string_view text,
                    ConvertedNode& node);

/// Process groups of a METADATA node's input, the text of a Python list: `['[{"pg_name": ...}]']`.
void take_initial_groups(const ConvertedNode& node, std::string_view values, ConvertedTrace& trace);

/// Reads what is_converted() recognises; JSON as written by the jsonizer or for old feeders
/// (`workload_graph`).
/// @throws InputError with the place, for a file that is cut off, or no Chakra trace
[[nodiscard]] ConvertedTrace read_converted(const std::filesystem::path& path);

/// Whether a file is a recording: its metadata names a schema of PyTorch's, or it is JSON, and it has nodes
/// of host threads or streams; JSON without them, too, where all its nodes have durations. False for files
/// that cannot be read, too: their reader says what is wrong.
[[nodiscard]] bool is_converted(const std::filesystem::path& path);

/// Whether a Chakra trace is JSON.
[[nodiscard]] bool is_json_trace(const std::filesystem::path& path);

}  // namespace lockstep::chakra
