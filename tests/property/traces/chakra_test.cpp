/// @file
/// Random Chakra traces: simulated as a direct evaluation of the graph says; broken ones end with a message.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"
#include "traces/chakra/chakra_job.hpp"

namespace lockstep::testing {
namespace {

struct RandomNode {
  bool is_collective = false;
  std::vector<std::uint64_t> needed;
  std::array<std::uint64_t, 2> microseconds{};  ///< by rank
};

std::vector<RandomNode> random_graph() {
  std::vector<RandomNode> nodes(*rc::gen::inRange<std::size_t>(1, 40));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].is_collective = *rc::gen::inRange(0, 3) == 0;
    for (int edge = *rc::gen::inRange(0, 4); edge > 0 && i > 0; --edge) {
      nodes[i].needed.push_back(*rc::gen::inRange<std::uint64_t>(0, i));
    }
    for (std::uint64_t& duration : nodes[i].microseconds) {
      duration = *rc::gen::inRange<std::uint64_t>(0, 1000);
    }
  }
  return nodes;
}

constexpr std::uint64_t kBytes = 1 << 18;

std::string trace_of(const std::vector<RandomNode>& nodes, std::size_t rank) {
  EtWriter trace;
  for (const RandomNode& node : nodes) {
    node.is_collective ? trace.all_reduce(node.needed, kBytes)
                       : trace.compute("c", node.needed, node.microseconds[rank]);
  }
  return trace.text();
}

/// A node begins when what it needs has ended and the node before it on its stream, a collective when both
/// ranks have come to it. Ring of two on links of 2^30 B/s: an all-reduce takes size / B.
double evaluated(const std::vector<RandomNode>& nodes) {
  std::vector<std::array<double, 2>> ends(nodes.size());
  std::array<std::array<double, 2>, 2> stream_ends{};  // by rank, then stream
  double makespan = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::array<double, 2> start{};
    const std::size_t stream = nodes[i].is_collective ? 1 : 0;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      start[rank] = stream_ends[rank][stream];
      for (const std::uint64_t needed : nodes[i].needed) {
        start[rank] = std::max(start[rank], ends[needed][rank]);
      }
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const double met = std::max(start[0], start[1]) + static_cast<double>(kBytes) / (1 << 30);
      ends[i][rank] = nodes[i].is_collective
                          ? met
                          : start[rank] + 1e-6 * static_cast<double>(nodes[i].microseconds[rank]);
      stream_ends[rank][stream] = ends[i][rank];
      makespan = std::max(makespan, ends[i][rank]);
    }
  }
  return makespan;
}

RC_GTEST_PROP(ChakraTraces, TakeAsLongAsTheirGraphSays, ()) {
  const std::vector<RandomNode> nodes = random_graph();
  const test::ScratchFolder folder;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    folder.write(fmt::format("{}.et", rank), trace_of(nodes, rank));
  }
  const Fabric fabric = tick_machine(2);
  ChakraSpec spec;
  spec.chakra = "%d.et";
  const Job job = chakra_job(spec, folder.path(), fabric.gpus());
  check(job);
  const CollectivePlanner planner{fabric, rings()};
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  const double simulated =
      simulate(input_of(job, fabric, planner), options, nullptr).makespan().in_base_units();
  const double expected = evaluated(nodes);
  RC_ASSERT(std::abs(simulated - expected) <= 1e-9 * (1 + expected));
}

/// Cut off, or with some bytes changed: read, or rejected with a message that names the file.
RC_GTEST_PROP(ChakraTraces, BrokenFilesEndWithAMessage, ()) {
  std::string text = trace_of(random_graph(), 0);
  for (int change = *rc::gen::inRange(0, 4); change > 0; --change) {
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  }
  text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
  const test::ScratchFolder folder;
  folder.write("0.et", text);
  ChakraSpec spec;
  spec.chakra = "%d.et";
  const std::vector<VertexId> gpus{0};
  try {
    check(chakra_job(spec, folder.path(), gpus));
  } catch (const InputError& problem) {
    RC_ASSERT(std::string{problem.what()}.find("0.et") != std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::testing
