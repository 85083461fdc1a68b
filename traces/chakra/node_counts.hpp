#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::chakra {

/// Counts of the nodes of a trace that Lockstep wrote, as any reader of the format can make them.
struct NodeCounts {
  struct Stream {
    std::string name;
    std::uint64_t work = 0;  ///< nodes of the GPU on it
  };

  std::uint64_t nodes = 0;
  std::vector<Stream> streams;                               ///< as the metadata lists them
  std::uint64_t collectives = 0;                             ///< COMM_COLL, COMM_SEND, COMM_RECV
  std::uint64_t operators = 0;                               ///< ranges of host threads
  std::uint64_t from_execution_trace = 0, from_profile = 0;  ///< of these: where their arguments are from
  std::uint64_t launches = 0;
  std::uint64_t stream_waits = 0, host_waits = 0, thread_waits = 0;  ///< host nodes: calls about events, ...
  /// Dependencies: of GPU work on work of another stream, of host nodes on GPU work, on another thread's.
  std::uint64_t stream_edges = 0, host_edges = 0, thread_edges = 0;
};

/// Reads a trace of schema kProgramSchema back, node by node.
/// @throws InputError as read_program()
[[nodiscard]] NodeCounts count_nodes(const std::filesystem::path& path);

}  // namespace lockstep::chakra
