// Other tools' view of a Program: nodes and what they depend on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"
#include "traces/chakra/node_record.hpp"
#include "traces/chakra/program_nodes.hpp"
#include "traces/chakra/record_reader.hpp"

namespace lockstep::chakra {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Seen {
  std::string name, group;
  std::uint64_t type = 0, microseconds = 0;
  bool is_cpu = false;
  std::vector<std::uint64_t> needed;  // data and control
  double comm_type = -1, comm_size = -1;
};

/// The nodes of rank 0 of two ranks that run @p script, by id. Kernels take a second for each tick.
std::map<std::uint64_t, Seen> nodes_of(const testing::Script& script) {
  const Fabric fabric = testing::tick_machine(2);
  const Job job = testing::job_of(fabric, {script, script}, {{"world", {0, 1}}});
  std::vector<KernelTiming> kernels;
  for (const KernelCall& call : job.programs[0]->kernels) {
    KernelTiming timing;
    timing.seconds = std::get<Timed>(call.work).duration.in_base_units() / testing::kTick;
    kernels.push_back(timing);
  }
  const test::ScratchFolder folder;
  folder.write("r.et", trace_of_rank(job, 0, kernels, {}));
  RecordReader file{folder.path() / "r.et"};
  std::string_view record;
  EXPECT_TRUE(file.next(record));
  EXPECT_TRUE(is_metadata(record));
  std::map<std::uint64_t, Seen> nodes;
  NodeRecord node;
  while (file.next(record)) {
    read_node(record, node);
    nodes[node.id] = {std::string{node.name},
                      std::string{node.group},
                      node.type,
                      node.microseconds,
                      node.is_cpu,
                      node.dependencies,
                      node.comm_type.value_or(-1),
                      node.comm_size.value_or(-1)};
  }
  return nodes;
}

// 1 work, 2 launch, 3 its kernel, 4 launch, 5 its kernel: a kernel after its launch and the one before it.
TEST(ProgramNodes, StreamsAndThreadsAreChains) {
  const auto nodes = nodes_of(testing::Script{{"compute"}}.work(1).launch(0, 2).launch(0, 3));
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_TRUE(nodes.at(1).is_cpu);
  EXPECT_EQ(nodes.at(1).name, "work");
  EXPECT_THAT(nodes.at(2).needed, ElementsAre(1));
  EXPECT_FALSE(nodes.at(3).is_cpu);
  EXPECT_EQ(nodes.at(3).microseconds, 2'000'000U);
  EXPECT_THAT(nodes.at(3).needed, UnorderedElementsAre(2, 2));  // control and data
  EXPECT_THAT(nodes.at(4).needed, ElementsAre(2));
  EXPECT_THAT(nodes.at(5).needed, UnorderedElementsAre(4, 3, 4));
}

// Kernel 2 on stream 0; record 3; stream 1 waits (4); the all-reduce 6 (launched by 5) comes after kernel 2.
// Then the host waits for stream 1: 7 after 6.
TEST(ProgramNodes, SynchronisationIsADependency) {
  testing::Script script{{"compute", "nccl"}, {"world"}};
  script.launch(0, 1).record(0, 0).stream_wait(1, 0).all_reduce(1, 0, Bytes{4096}).wait_stream(1);
  const auto nodes = nodes_of(script);
  ASSERT_EQ(nodes.size(), 7U);
  EXPECT_EQ(nodes.at(6).type, static_cast<std::uint64_t>(NodeType::Collective));
  EXPECT_THAT(nodes.at(6).needed, UnorderedElementsAre(5, 2, 5));
  EXPECT_EQ(nodes.at(6).comm_type, 0);
  EXPECT_EQ(nodes.at(6).comm_size, 4096);
  EXPECT_EQ(nodes.at(6).group, "1");
  EXPECT_THAT(nodes.at(7).needed, UnorderedElementsAre(5, 6));
}

// An all-gather's comm_size is what a rank puts in: half of 4096 with two.
TEST(ProgramNodes, AnAllGatherHasItsPart) {
  testing::Script script{{"nccl"}, {"world"}};
  script.collective(0, {CollectiveKind::AllGather, DataType::FP32, 0, Bytes{4096}, {}, 0});
  EXPECT_EQ(nodes_of(script).at(2).comm_size, 2048);
}

// Thread 1 awaits what thread 0 posts: 1 work, 2 post; 3 the Await after 2, 4 launch, 5 kernel.
TEST(ProgramNodes, AnAwaitComesAfterThePost) {
  testing::Script script{{"compute"}};
  script.work(1).post(0).on("autograd").await(0).launch(0, 1);
  const auto nodes = nodes_of(script);
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_THAT(nodes.at(1).needed, IsEmpty());
  EXPECT_THAT(nodes.at(3).needed, ElementsAre(2));
}

TEST(ProgramNodes, MessagesHaveTwoEnds) {
  testing::Script script{{"p2p"}, {"world"}};
  script.collective(0, {CollectiveKind::Send, DataType::FP32, 0, Bytes{64}, {}, 1});
  const auto nodes = nodes_of(script);
  EXPECT_EQ(nodes.at(2).type, static_cast<std::uint64_t>(NodeType::Send));
  EXPECT_EQ(nodes.at(2).comm_size, 64);
}

}  // namespace
}  // namespace lockstep::chakra
