#pragma once

/// @file
/// The messages of a Chakra execution trace (schema 0.0.4 to 1.0.0, package ChakraProtoMsg), as far as their
/// simulation needs them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lockstep::chakra {

enum class NodeType : std::uint8_t {
  Invalid,
  Metadata,
  MemLoad,
  MemStore,
  Compute,
  Send,
  Receive,
  Collective
};

/// A node as one record describes it. Views point into the record.
struct NodeRecord {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint64_t type = 0;  ///< a NodeType, or what no schema knows
  std::uint64_t microseconds = 0;
  std::string_view duration;                ///< the bytes that say how many; none: the node has no duration
  std::vector<std::uint64_t> dependencies;  ///< ids, data and control alike
  bool is_cpu = false;                      ///< is_cpu_op
  double operations = 0;                    ///< num_ops
  double bytes = 0;                         ///< tensor_size
  std::optional<double> comm_type;          ///< a number of CollectiveCommType
  std::optional<double> comm_size;          ///< bytes
  std::optional<double> source, target;     ///< comm_src, comm_dst: ranks
  std::optional<double> tag;                ///< comm_tag
  std::string_view group;                   ///< pg_name
  bool skips_dimensions = false;            ///< involved_dim: not all of the network's dimensions take part
};

/// Reads a record of type Node into @p node, whose memory is used again. Attributes of any numeric kind are
/// accepted, numbers as text too, because writers differ; unknown fields and attributes are passed over.
/// @throws WireError when the record is no such message
void read_node(std::string_view record, NodeRecord& node);

/// Whether a record can be a file's first, GlobalMetadata (version and attributes).
[[nodiscard]] bool is_metadata(std::string_view record);

/// Whether a record is a node of schema 0.0.1 (2023), which has no metadata: there what are messages now were
/// numbers.
[[nodiscard]] bool is_node_of_2023(std::string_view record);

}  // namespace lockstep::chakra
