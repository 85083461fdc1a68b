#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/result_folder.hpp"
#include "traces/chakra/node_counts.hpp"
#include "traces/pytorch_et/execution_trace.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {

/// How many of each there are in a recording, and in what was written of it.
struct RankConversion {
  std::string trace;  ///< the profile's file
  chakra::NodeCounts written;
  std::vector<std::uint64_t> stream_work;  ///< by stream: recorded on it
  std::uint64_t collectives = 0, operators = 0, launches = 0;
  std::uint64_t stream_waits = 0, host_waits = 0;
  std::uint64_t stream_edges = 0;  ///< different pairs of work that one of the waits puts in order
};

struct Conversion {
  std::filesystem::path folder;
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  std::vector<RankConversion> traces;  ///< by trace of the replay
};

/// The folder for the traces of a replay, and the machine that they run on again.
struct ConversionTarget {
  std::filesystem::path folder;
  std::string machine;  ///< `cluster:` and `collectives:` as YAML; empty: collectives take their recorded
                        ///< times, so any machine with as many GPUs will do
};

/// Writes a replay's Programs as Chakra execution traces, `rank.0.et` ..., with what the recordings and the
/// execution traces know of them, and `scenario.yaml`, which runs them; then reads them back to count.
/// @param execution_traces none, or one for each trace of the replay in its order
/// @throws InputError when a file cannot be written, or for another number of execution traces
[[nodiscard]] Conversion convert(const replay::Replay& replay,
                                 std::span<const pytorch_et::ExecutionTrace> execution_traces,
                                 const ConversionTarget& target);

/// convert() as the result of a folder: put in place when all is written.
[[nodiscard]] Conversion convert_into(ResultFolder& folder, const replay::Replay& replay,
                                      std::span<const pytorch_et::ExecutionTrace> execution_traces,
                                      const std::string& machine);

/// Names of files that hold a job as Chakra traces: of `export`, `import --chakra` and `replay --chakra`.
[[nodiscard]] bool is_of_chakra(const std::string& name);

/// A table of what was recorded and what was written.
[[nodiscard]] std::string to_text(const Conversion& conversion);

}  // namespace lockstep
