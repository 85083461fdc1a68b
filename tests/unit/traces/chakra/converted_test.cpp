/// @file
/// Chakra traces that converters made: as nodes, as a graph, and run.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"
#include "traces/chakra/chakra_job.hpp"
#include "traces/chakra/converted_program.hpp"

namespace lockstep::testing {
namespace {

using chakra::ConvertedGraph;
using chakra::ConvertedTrace;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint64_t kCompute = 4;
constexpr std::uint64_t kCollective = 7;

/// A trace as Chakra's converter of PyTorch traces writes it.
class ConvertedWriter {
 public:
  ConvertedWriter() {
    const std::string schema = bytes_field(1, "schema") + bytes_field(29, "1.1.0-chakra.0.0.4");
    text_ = framed(bytes_field(2, schema));
  }
  /// @param caller ctrl_deps
  ConvertedWriter& host(std::uint64_t id, std::uint64_t tid, std::uint64_t microseconds,
                        const std::vector<std::uint64_t>& needed, std::uint64_t caller = 0) {
    return node(id, fmt::format("op{}", id), kCompute, needed,
                number_field(4, caller) + number_field(7, microseconds) +
                    attribute("is_cpu_op", number_field(27, 1)) +
                    attribute("tid", number_field(kInt64, tid)));
  }
  ConvertedWriter& kernel(std::uint64_t id, std::uint64_t microseconds,
                          const std::vector<std::uint64_t>& needed, const std::string& rest = "") {
    return node(id, fmt::format("kernel{}", id), kCompute, needed,
                number_field(7, microseconds) + attribute("is_cpu_op", number_field(27, 0)) + rest);
  }
  ConvertedWriter& node(std::uint64_t id, const std::string& name, std::uint64_t type,
                        const std::vector<std::uint64_t>& needed, const std::string& rest) {
    std::string message = number_field(1, id) + bytes_field(2, name) + number_field(3, type) + rest;
    for (const std::uint64_t other : needed) {
      message += number_field(5, other);
    }
    text_ += framed(message);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

constexpr std::string_view kGraphJson = R"({"workload_graph": [
  {"Id": 1, "Name": "op", "NodeType": 4, "ctrlDeps": [9], "data_deps": [], "runtime": 10, "is_cpu_op": true},
  {"Id": 2, "Name": "kernel", "NodeType": 4, "data_deps": [1], "runtime": 25, "is_cpu_op": false},
  {"Id": 3, "Name": "ncclKernel", "NodeType": 7, "data_deps": [1], "runtime": 4, "is_cpu_op": false}
], "workload_name": "w", "ngpus": 8})";

constexpr std::string_view kJsonizerJson = R"({
  "version": "0.0.4", "attr": [{"name": "schema", "stringVal": "1.0.2-chakra.0.0.4"}]
}
{"name": "op", "type": "COMP_NODE", "durationMicros": "10", "attr": [{"name": "is_cpu_op", "boolVal": true}]}
{
  "id": "2", "name": "kernel", "type": "COMP_NODE", "ctrlDeps": ["0"], "dataDeps": ["0"], "durationMicros": "25",
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "tid", "int64Val": "1"}]
}
{"id": "3", "name": "nccl", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "durationMicros": "4",
 "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1048576"}]})";

class Converted : public ::testing::Test {
 protected:
  double makespan(std::string_view text, int ranks = 2) {
    write(text);
    const Fabric fabric = tick_machine(ranks);
    ChakraSpec spec;
    spec.chakra = "t.et";
    const Job job = chakra_job(spec, folder_.path(), fabric.gpus());
    const CollectivePlanner planner{fabric, rings()};
    SimulationOptions options;
    options.engine = EngineMode::Bare;
    return simulate(input_of(job, fabric, planner), options, nullptr).makespan().in_base_units();
  }
  void write(std::string_view text) { folder_.write("t.et", std::string{text}); }
  std::string rejected(std::string_view text) {
    try {
      (void)makespan(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::filesystem::path file() const { return folder_ / "t.et"; }
  test::ScratchFolder folder_;
};

// The host works 10 us, launches 100 us of work, and works 20 us more meanwhile: 110 us.
TEST_F(Converted, HostsLaunchAndGoOn) {
  ConvertedWriter trace;
  trace.host(1, 1, 10, {}).kernel(2, 100, {1}).host(3, 1, 20, {1});
  EXPECT_NEAR(makespan(trace.text()), 110e-6, 1e-11);
}

// A host operator that depends on GPU work waits for it: 10 + 100 + 20.
TEST_F(Converted, HostsWaitForGpus) {
  ConvertedWriter trace;
  trace.host(1, 1, 10, {}).kernel(2, 100, {1}).host(3, 1, 20, {2});
  EXPECT_NEAR(makespan(trace.text()), 130e-6, 1e-11);
}

// Two threads work at the same time, 30 and 50 us; what the second launches after the first's operator is
// launched when both are over: max(30, 50) + 5.
TEST_F(Converted, ThreadsPostToEachOther) {
  ConvertedWriter trace;
  trace.host(1, 1, 30, {}).host(2, 2, 50, {}).kernel(3, 5, {1, 2});
  EXPECT_NEAR(makespan(trace.text()), 55e-6, 1e-11);
  ConvertedWriter swapped;
  swapped.host(1, 1, 70, {}).host(2, 2, 50, {}).kernel(3, 5, {1, 2});
  EXPECT_NEAR(makespan(swapped.text()), 75e-6, 1e-11);
}

// Kernels with streams of their own overlap, 10 + max(100, 60); one that needs another's result waits.
TEST_F(Converted, StreamsOverlapUntilTheyWait) {
  const auto on = [](std::uint64_t stream) { return attribute("stream", number_field(kInt64, stream)); };
  ConvertedWriter trace;
  trace.host(1, 1, 10, {}).kernel(2, 100, {1}, on(7)).kernel(3, 60, {1}, on(20));
  EXPECT_NEAR(makespan(trace.text()), 110e-6, 1e-11);
  ConvertedWriter waiting;
  waiting.host(1, 1, 10, {}).kernel(2, 100, {1}, on(7)).kernel(3, 60, {1, 2}, on(20));
  EXPECT_NEAR(makespan(waiting.text()), 170e-6, 1e-11);
}

// Old converters let an operator wait for what it calls, and call itself: callers are no order.
TEST_F(Converted, CallersAreNoOrder) {
  ConvertedWriter trace;
  trace.host(1, 1, 10, {}, 3).host(3, 1, 20, {1}, 3).kernel(4, 5, {3});
  EXPECT_NEAR(makespan(trace.text()), 35e-6, 1e-11);
}

TEST_F(Converted, WhatIsOddIsInTheReport) {
  ConvertedWriter writer;
  writer.host(1, 1, 0, {77}).kernel(2, 5, {2}).node(5, "ncclKernel_AllReduce", kCollective, {1}, "");
  writer.node(6, "send", 5, {1}, number_field(7, 3));
  write(writer.text());
  ConvertedTrace trace = chakra::read_converted(file());
  const ConvertedGraph graph = chakra::graph_of(trace);
  EXPECT_THAT(graph.entries, SizeIs(4));
  EXPECT_EQ(trace.report.count_of("dependency on a missing node"), 1);
  EXPECT_EQ(trace.report.count_of("node that depends on itself"), 1);
  EXPECT_EQ(trace.report.count_of("collective without a kind that is simulated"), 1);
  EXPECT_EQ(trace.report.count_of("node of another type"), 1);
  EXPECT_EQ(trace.report.count_of("callers"), 1);
  EXPECT_EQ(trace.report.count_of("nodes without a duration"), 2);
}

// The process groups of the job are in the trace itself, as text of a Python list.
TEST_F(Converted, ProcessGroupsComeWithTheTrace) {
  const std::string groups =
      bytes_field(1, R"(['[{"pg_name": "5", "pg_desc": "tp", "ranks": [1, 0], "group_size": 2}]'])");
  const auto with_group = [&](const std::string& name) {
    ConvertedWriter trace;
    trace.node(1, "## process_group:init ##", 1, {}, bytes_field(8, groups));
    trace.host(2, 1, 10, {})
        .node(3, "nccl", kCollective, {2},
              attribute("comm_type", number_field(kInt64, 0)) +
                  attribute("comm_size", number_field(kInt64, 1 << 20)) +
                  attribute("pg_name", bytes_field(29, name)));
    return trace.text();
  };
  // Ring of two, 2^20 bytes at 2^30 B/s: 2 x 1/2 x 2^-10 s.
  EXPECT_NEAR(makespan(with_group("5")), 10e-6 + 1.0 / 1024, 1e-9);
  EXPECT_THAT(rejected(with_group("6")), HasSubstr("process group (pg_name) is '6'"));
}

TEST_F(Converted, GraphsAsJsonRun) {
  EXPECT_NEAR(makespan(kGraphJson), 35e-6, 1e-11);  // the collective has no kind: 4 us beside the kernel
  write(kGraphJson);
  ConvertedTrace trace = chakra::read_converted(file());
  (void)chakra::graph_of(trace);
  EXPECT_EQ(trace.report.count_of("collective without a kind that is simulated"), 1);
}

TEST_F(Converted, JsonizersOutputRuns) {
  EXPECT_NEAR(makespan(kJsonizerJson), 10e-6 + 1.0 / 1024, 1e-9);
  write(kJsonizerJson);
  const ConvertedTrace trace = chakra::read_converted(file());
  EXPECT_EQ(trace.schema, "1.0.2-chakra.0.0.4");
  EXPECT_THAT(trace.nodes, SizeIs(3));
  EXPECT_EQ(trace.nodes[0].id, 0);  // protobuf leaves out what is 0
}

TEST_F(Converted, RejectsWhatCannotRun) {
  ConvertedWriter circle;
  circle.host(1, 1, 10, {2}).host(2, 1, 10, {1});
  EXPECT_THAT(rejected(circle.text()), HasSubstr("in a circle"));
  ConvertedWriter twice;
  twice.host(1, 1, 10, {}).host(1, 1, 10, {});
  EXPECT_THAT(rejected(twice.text()), HasSubstr("two nodes have the id 1"));
  EXPECT_THAT(rejected(circle.text().substr(0, 60)), HasSubstr("cut off"));
  EXPECT_THAT(rejected(R"({"workload_graph": [{"Id": "x"}]})"), HasSubstr("t.et:1: a node whose id is"));
  EXPECT_THAT(rejected(R"({"workload_graph": [{"Id": 1, "runtime": -3}]})"), HasSubstr("a duration in"));
  EXPECT_THAT(rejected(R"({"workload_graph": [{"Id": 1, "data_deps": ["a"]}]})"), HasSubstr("is no id"));
  EXPECT_THAT(rejected(R"({"workload_graph": [)"), HasSubstr("cut off"));
  EXPECT_THAT(rejected(R"({"schema": "1.1.0-chakra.0.0.4", "nodes": []})"),
              HasSubstr("a PyTorch execution trace, which has no durations"));
  EXPECT_THAT(rejected(R"({"schemaVersion": 1, "traceEvents": []})"), HasSubstr("a profile"));
}

/// Messages of 2^18 bytes, which take 2^-12 s; host operators launch it and what waits for it.
std::string messages(std::uint64_t rank, bool sends, std::uint64_t size = 1 << 18) {
  ConvertedWriter writer;
  writer.host(1, 1, 10, {});
  writer.node(2, "ncclDevKernel_SendRecv", sends ? 5 : 6, {1},
              attribute("is_cpu_op", number_field(27, 0)) +
                  attribute(sends ? "comm_dst" : "comm_src", number_field(kInt32, 1 - rank)) +
                  attribute("comm_tag", number_field(kInt32, 3)) +
                  attribute("comm_size", number_field(kInt64, size)));
  writer.kernel(3, 100, {2});
  return writer.text();
}

TEST_F(Converted, MessagesThatSayTheirOtherEndTakePlace) {
  const auto makespan_of = [&](const std::string& first, const std::string& second) {
    folder_.write("p.0.et", first);
    folder_.write("p.1.et", second);
    const Fabric fabric = tick_machine(2);
    ChakraSpec spec;
    spec.chakra = "p.%d.et";
    const Job job = chakra_job(spec, folder_.path(), fabric.gpus());
    const CollectivePlanner planner{fabric, rings()};
    SimulationOptions options;
    options.engine = EngineMode::Bare;
    return simulate(input_of(job, fabric, planner), options, nullptr).makespan().in_base_units();
  };
  EXPECT_NEAR(makespan_of(messages(0, true), messages(1, false)), 110e-6 + 1.0 / 4096, 1e-9);
  EXPECT_THAT([&] { makespan_of(messages(0, true), messages(1, false, 64)); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("message 1 with tag 3 from rank 0 to rank 1")));
  EXPECT_THAT([&] { makespan_of(messages(0, true), messages(1, true)); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("sends 1 messages with tag 3 to rank")));
}

// A list of steps as JSON has no host: it is a graph of GPU work, whose messages are eager.
TEST_F(Converted, ListsOfStepsAreGraphs) {
  const auto steps = [](int rank, bool with_host) {
    return fmt::format(R"({{"workload_graph": [
  {{"Id": 1, "Name": "send", "NodeType": 5, "data_deps": [], "comm_dst": {0}, "comm_tag": 0, "comm_size": 262144}},
  {{"Id": 2, "Name": "recv", "NodeType": 6, "data_deps": [1], "comm_src": {0}, "comm_tag": 0, "comm_size": 262144}},
  {{"Id": 3, "Name": "add", "NodeType": 4, "data_deps": [2], "runtime": 50, "is_cpu_op": {1}}}], "ngpus": 2}})",
                       1 - rank, with_host);
  };
  write(steps(0, true));
  EXPECT_TRUE(chakra::is_converted(file()));
  write(steps(0, false));
  EXPECT_FALSE(chakra::is_converted(file()));
  folder_.write("p.0.json", steps(0, false));
  folder_.write("p.1.json", steps(1, false));
  const Fabric fabric = tick_machine(2);
  ChakraSpec spec;
  spec.chakra = "p.%d.json";
  const Job job = chakra_job(spec, folder_.path(), fabric.gpus());
  const CollectivePlanner planner{fabric, rings()};
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  EXPECT_NEAR(simulate(input_of(job, fabric, planner), options, nullptr).makespan().in_base_units(),
              50e-6 + 1.0 / 4096, 1e-9);
}

// Schema 0.0.1: no metadata; field 12 is the number of operations, 7 a time of no stated unit.
TEST_F(Converted, TheSchemaOf2023IsRecognised) {
  const std::string node = number_field(1, 1) + bytes_field(2, "COMP_NODE") + number_field(3, 3) +
                           number_field(7, 5) + number_field(12, 1000);
  EXPECT_THAT(rejected(framed(node)), HasSubstr("schema 0.0.1"));
}

TEST_F(Converted, AnswersBrokenFilesWithAResultOrAnInputError) {
  ConvertedWriter writer;
  writer.host(1, 1, 10, {}, 3).host(2, 2, 5, {1}).kernel(3, 50, {2}).host(4, 1, 7, {3, 1});
  for (const std::string_view sound : {std::string_view{writer.text()}, kGraphJson, kJsonizerJson}) {
    Mutations mutations{sound, 77};
    int accepted = 0;
    constexpr int kCopies = 1000;
    for (int i = 0; i < kCopies; ++i) {
      write(mutations.next());
      try {
        ConvertedTrace trace = chakra::read_converted(file());
        const auto made = program_of(trace, graph_of(trace), [](const std::string&) { return 2U; });
        ASSERT_FALSE(made.program.threads.empty());
        ++accepted;
      } catch (const InputError&) {  // what it should be
      }
    }
    EXPECT_GT(accepted, kCopies / 50);
    EXPECT_LT(accepted, kCopies);
  }
}

// Both published traces, and the JSON of one, load and run whole; the smaller one stops other tools.
TEST_F(Converted, PublishedTracesRun) {
  const std::filesystem::path folder = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/chakra";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "needs the captured traces in ../shared/data/traces";
  }
  const auto nodes = [&](const std::string& name) {
    EXPECT_TRUE(chakra::is_converted(folder / name)) << name;
    ConvertedTrace trace = chakra::read_converted(folder / name);
    const std::size_t entries = chakra::graph_of(trace).entries.size();
    EXPECT_EQ(entries, trace.nodes.size()) << name;
    return entries;
  };
  EXPECT_EQ(nodes("chakra_11347nodes.0.et.gz"), 11347);
  EXPECT_EQ(nodes("chakra_resnet_3664nodes.0.et.gz"), 3664);
  EXPECT_EQ(nodes("workload_graph_chakra.0.json.gz"), 3664);
  EXPECT_EQ(nodes("workload_graph_small_chakra.0.json"), 7);
}

}  // namespace
}  // namespace lockstep::testing
