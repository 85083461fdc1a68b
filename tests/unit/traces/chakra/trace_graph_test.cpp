#include "traces/chakra/trace_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::chakra {
namespace {

using testing::attribute;
using testing::bytes_field;
using ::testing::ElementsAre;
using testing::EtWriter;
using ::testing::HasSubstr;
using testing::kInt32;
using testing::kInt64;
using testing::number_field;
using ::testing::ThrowsMessage;

class TraceGraphTest : public ::testing::Test {
 protected:
  TraceGraph read(const std::string& content) {
    folder_.write("trace.et", content);
    TraceGraph graph;
    read_graph(folder_ / "trace.et", tables_, graph);
    return graph;
  }
  TraceGraph read(const EtWriter& trace) { return read(trace.text()); }

  /// Nodes that @p node needs, by their ids.
  static std::vector<std::uint64_t> needed(const TraceGraph& graph, std::size_t node) {
    std::vector<std::uint64_t> ids;
    for (auto i = graph.first_dependency[node]; i < graph.first_dependency[node + 1]; ++i) {
      ids.push_back(graph.ids[graph.dependencies[i]]);
    }
    return ids;
  }

  void expect_rejected(const EtWriter& trace, const std::string& why) {
    EXPECT_THAT([&] { read(trace); }, ThrowsMessage<InputError>(HasSubstr(why)));
  }

  test::ScratchFolder folder_;
  TraceTables tables_;
};

TEST_F(TraceGraphTest, ReadsComputeNodesAndCollectives) {
  EtWriter trace;
  const auto forward = trace.compute("forward.0", {}, 500);
  const auto backward = trace.compute("backward.0", {forward}, 1000);
  trace.all_reduce({backward}, 1 << 20);
  trace.collective(2, {backward}, 4096, "1");
  const TraceGraph graph = read(trace);
  EXPECT_THAT(graph.ids, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(graph.microseconds, ElementsAre(500, 1000, 0, 0));
  EXPECT_EQ(tables_.kind_name(graph.what[1]), "backward");
  EXPECT_THAT(graph.groups, ElementsAre("", "1"));
  ASSERT_TRUE(graph.is_collective(3));
  EXPECT_EQ(tables_.call(graph.call(3)), (TraceTables::Call{CollectiveKind::AllGather, 1, 4096}));
  EXPECT_THAT(needed(graph, 2), ElementsAre(1));
}

TEST_F(TraceGraphTest, GroupZeroIsThatOfAllRanks) {
  EtWriter trace;
  trace.all_reduce({}, 8, "0");
  EXPECT_THAT(read(trace).groups, ElementsAre(""));
}

TEST_F(TraceGraphTest, IdsMayHaveGapsAndComeInAnyOrder) {
  EtWriter trace;
  trace.node(70, "third", 4, {40}, number_field(7, 3));
  trace.node(9, "first", 4, {}, number_field(7, 1));
  trace.node(40, "second", 4, {9}, number_field(7, 2));
  const TraceGraph graph = read(trace);
  EXPECT_THAT(graph.ids, ElementsAre(9, 40, 70));
  EXPECT_THAT(graph.microseconds, ElementsAre(1, 2, 3));
  EXPECT_THAT(needed(graph, 2), ElementsAre(40));
}

// 1 needs 5, and 2 needs 1: of what can begin, the lowest id goes first, so 3, 4, 5, 1, 2.
TEST_F(TraceGraphTest, DependenciesMayPointForward) {
  EtWriter trace{1};
  trace.compute("a", {5}, 1);
  trace.compute("a", {1}, 2);
  trace.compute("a", {}, 3);
  trace.compute("a", {3}, 4);
  trace.compute("a", {}, 5);
  const TraceGraph graph = read(trace);
  EXPECT_THAT(graph.ids, ElementsAre(3, 4, 5, 1, 2));
  EXPECT_THAT(graph.microseconds, ElementsAre(3, 4, 5, 1, 2));
  EXPECT_THAT(needed(graph, 4), ElementsAre(1));
}

TEST_F(TraceGraphTest, MetadataNodesNeedNotBeWaitedFor) {
  EtWriter trace;
  trace.node(0, "process_group:init", 1, {});
  trace.compute("a", {0}, 1);
  const TraceGraph graph = read(trace);
  EXPECT_THAT(graph.ids, ElementsAre(1));
  EXPECT_THAT(needed(graph, 0), ElementsAre());
}

// Converters delete nodes whose ids stay behind.
TEST_F(TraceGraphTest, CountsDependenciesOnNodesThatAreNotThere) {
  EtWriter trace;
  trace.compute("a", {7}, 1);
  trace.compute("a", {0, 9}, 1);
  const TraceGraph graph = read(trace);
  EXPECT_EQ(graph.missing, 2U);
  EXPECT_EQ(graph.missing_of, 0U);
  EXPECT_EQ(graph.missing_id, 7U);
  EXPECT_THAT(needed(graph, 1), ElementsAre(0));
  EtWriter sound;
  sound.compute("a", {}, 1);
  EXPECT_EQ(read(sound).missing, 0U);
}

TEST_F(TraceGraphTest, RejectsDependenciesThatCannotBe) {
  EtWriter circle;
  circle.compute("a", {}, 1);
  circle.compute("b", {0, 3}, 1);
  circle.compute("c", {1}, 1);
  circle.compute("d", {2}, 1);
  expect_rejected(circle, "in a circle, so that none can begin: 1 -> 3 -> 2 -> 1");
  EtWriter itself;
  itself.compute("a", {0}, 1);
  expect_rejected(itself, "0 -> 0");
  EtWriter twice;
  twice.node(4, "a", 4, {});
  twice.node(4, "b", 4, {});
  expect_rejected(twice, "two nodes have the id 4");
}

TEST_F(TraceGraphTest, RejectsNodesThatAreNotSimulated) {
  EtWriter send;
  send.node(3, "send", 5, {});
  expect_rejected(send, "node 3 ('send') is a send without its receiver (comm_dst)");
  EtWriter receive;
  receive.node(3, "recv", 6, {}, attribute("comm_src", number_field(kInt32, 1)));
  expect_rejected(receive, "node 3 ('recv') is a receive without a size above 0 (comm_size, in bytes)");
  EtWriter copy;
  copy.node(3, "load", 2, {});
  expect_rejected(copy, "node 3 ('load') is a copy (MEM_LOAD_NODE) without its bytes (tensor_size)");
  EtWriter unheard;
  unheard.node(0, "x", 300, {});
  expect_rejected(unheard, "is of type 300");
  EtWriter cpu;
  cpu.node(0, "aten::add", 4, {}, attribute("is_cpu_op", number_field(27, 1)));
  expect_rejected(cpu, "node 0 ('aten::add') runs on the CPU");
}

TEST_F(TraceGraphTest, OperationsAndBytesStandInForADuration) {
  EtWriter trace;
  trace.compute("a", {}, 3);
  trace.work(4, {}, 1000, 64);
  trace.work(3, {}, 0, 128);
  const TraceGraph graph = read(trace);
  EXPECT_THAT(graph.operations, ElementsAre(0, 1000, 0));
  EXPECT_THAT(graph.bytes, ElementsAre(0, 64, 128));
  EXPECT_FALSE(graph.is_derived(0));
  EXPECT_TRUE(graph.is_derived(1));
  EXPECT_TRUE(graph.is_memory(2));
}

TEST_F(TraceGraphTest, RejectsCollectivesThatSayTooLittle) {
  const std::string type = attribute("comm_type", number_field(kInt64, 0));
  EtWriter kind;
  kind.node(0, "x", 7, {}, attribute("comm_size", number_field(kInt64, 8)));
  expect_rejected(kind, "without its kind (comm_type)");
  EtWriter size;
  size.node(0, "x", 7, {}, type);
  expect_rejected(size, "without a size above 0 (comm_size, in bytes)");
  EtWriter gather;
  gather.collective(3, {}, 8);
  expect_rejected(gather, "of comm_type 3, which is not simulated");
  EtWriter part;
  part.node(0, "x", 7, {},
            type + attribute("comm_size", number_field(kInt64, 8)) +
                attribute("involved_dim", bytes_field(28, bytes_field(1, std::string("\1\0", 2)))));
  expect_rejected(part, "of some dimensions of the network only");
}

TEST_F(TraceGraphTest, ABarrierNeedsNoSize) {
  EtWriter trace;
  trace.node(0, "x", 7, {}, attribute("comm_type", number_field(kInt64, 9)));
  EXPECT_EQ(tables_.call(read(trace).call(0)).kind, CollectiveKind::Barrier);
}

TEST_F(TraceGraphTest, RejectsWhatIsNoTrace) {
  EXPECT_THAT([&] { read(""); }, ThrowsMessage<InputError>(HasSubstr("no Chakra execution trace")));
  EXPECT_THAT([&] { read(testing::framed(number_field(1, 0)) + "rest"); },
              ThrowsMessage<InputError>(HasSubstr("does not begin with metadata")));
  EXPECT_THAT([&] { read(EtWriter{}.text() + testing::framed("\x08")); },
              ThrowsMessage<InputError>(HasSubstr("byte 8: the record is no node of a Chakra trace")));
}

TEST(TraceTables, NamesOfNodesAreKinds) {
  TraceTables tables;
  EXPECT_EQ(tables.kind("fwd.0.17"), tables.kind("fwd.3.4"));
  EXPECT_EQ(tables.kind("fwd"), tables.kind("fwd.0.17"));
  EXPECT_NE(tables.kind("bwd.0.17"), tables.kind("fwd.0.17"));
  EXPECT_EQ(tables.kind_name(tables.kind("sgemm_128x64_nn")), "sgemm_128x64_nn");
  EXPECT_EQ(tables.kind_name(tables.kind("17")), "17");
  EXPECT_EQ(tables.kind_name(tables.kind("")), "unnamed");
}

}  // namespace
}  // namespace lockstep::chakra
