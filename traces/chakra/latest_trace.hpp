#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra/node_record.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// The trace that was read last, as it is in its file, record by record. Ranks mostly do the same in other
/// times: a trace that differs in durations alone is compared with it and need not be taken apart again.
class LatestTrace {
 public:
  /// Forgets what it knows; the records of another trace follow, all of them.
  void begin();
  /// @param node what @p record says; null: no node of the graph
  void add(std::string_view record, const NodeRecord* node);
  /// @param graph what the records are, in the order in which they can be issued
  void finish(const TraceGraph& graph);

  /// Reads the trace in @p path into @p graph, as read_graph() does, if it differs from the latest in
  /// durations alone. False: it does not, or needs a closer look; @p graph is anything then.
  /// @throws InputError where the file cannot be read or is cut off
  [[nodiscard]] bool read_alike(const std::filesystem::path& path, TraceGraph& graph) const;

 private:
  /// A record's end in bytes_, where it begins being the end of the one before; and the node that it is.
  struct Record {
    std::uint32_t duration = 0;       ///< where in the record the varint of the duration is
    std::uint32_t duration_size = 0;  ///< its bytes; none: the node has no duration
    std::uint32_t end = 0;
    std::uint32_t place = 0;  ///< in graph_
    std::uint64_t id = 0;
  };

  [[nodiscard]] static bool alike(std::string_view record, std::string_view known, const Record& where,
                                  std::uint64_t& microseconds);

  std::string bytes_;  // of all records
  std::vector<Record> records_;
  TraceGraph graph_;
  bool known_ = false;
};

}  // namespace lockstep::chakra
