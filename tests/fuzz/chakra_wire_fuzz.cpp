#include "base/error.hpp"
#include "tests/fuzz/fuzz_file.hpp"
#include "traces/chakra/converted_program.hpp"
#include "traces/chakra/latest_trace.hpp"
#include "traces/chakra/trace_graph.hpp"

/// Chakra traces, as what simulates and as what converters made: any file gives a result or an InputError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const lockstep::testing::FuzzFile file{bytes, size};
  try {
    if (lockstep::chakra::is_converted(file.path())) {
      auto trace = lockstep::chakra::read_converted(file.path());
      (void)program_of(trace, graph_of(trace), [](const std::string&) { return 2U; });
    } else {
      lockstep::chakra::TraceTables tables;
      lockstep::chakra::TraceGraph graph;
      lockstep::chakra::LatestTrace latest;
      read_graph(file.path(), tables, graph, &latest);
      read_graph(file.path(), tables, graph, &latest);  // now recognised
    }
  } catch (const lockstep::InputError&) {  // what a broken file should give
  }
  return 0;
}
