#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using Spans = std::vector<Ticks>;
using Path = Memcpy::Path;

/// Ranks on GPUs of one node; times in ticks, sizes by worth(): the ticks they take on a link alone.
class Ranks : public ::testing::Test {
 protected:
  GpuSpec gpu_ = tick_gpu();
  SimulationOptions options_;
  SimulationResult result_;
  Recording recording_;
  Fabric fabric_ = tick_machine(3);

  /// @param groups of all ranks
  void run(const std::vector<Script>& scripts, const std::vector<std::string>& groups = {"world"}) {
    const CollectivePlanner planner{fabric_, rings()};
    std::vector<ProcessGroup> made;
    for (const std::string& name : groups) {
      made.push_back({name, {}});
      for (std::uint32_t rank = 0; rank < scripts.size(); ++rank) {
        made.back().ranks.push_back(rank);
      }
    }
    const Job job = job_of(fabric_, scripts, made);
    auto input = input_of(job, fabric_, planner);
    input.gpu_models = {gpu_};
    options_.engine = EngineMode::Bare;
    result_ = simulate(input, options_, &recording_);
    for (const auto& [name, options] : every_engine(options_)) {
      EXPECT_EQ(simulated_in_child(input, options), agreement_of(result_)) << name;
    }
  }
  [[nodiscard]] Spans gpu(std::uint32_t rank, std::uint8_t stream) const {
    return in_ticks(recording_.gpu(rank, stream));
  }
  /// The GPU itself takes next to nothing for rows of host memory.
  void let_links_bind() {
    gpu_.memory_bandwidth = gpu_.l2_bandwidth = 1000 * kTickBandwidth;
    gpu_.host_copy = {2 * kTickBandwidth, 2 * kTickBandwidth, Seconds{0}};
    gpu_.peak.fp32 = Flops{1e30} / Seconds{1};
    gpu_.efficiency.value.first_row = gpu_.efficiency.value.row_latency = Seconds{0};
  }
  static Script script() { return Script({"a", "b"}, {"world"}); }
};

/// One engine a direction: the second copy begins when the first has ended. Its span shows the copy, not the
/// wait.
TEST_F(Ranks, CopiesOfOneDirectionTakeTurnsOnTheEngine) {
  run({script().copy(0, worth(10), Path::HostToDevice).copy(1, worth(6), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 10}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{10, 16}}));
  EXPECT_EQ(result_.ranks[0].streams[1].copy / kTick, 6);
}

TEST_F(Ranks, CopiesOfBothDirectionsOverlapEachOtherAndKernels) {
  run({script().copy(0, worth(10), Path::HostToDevice).copy(1, worth(6), Path::DeviceToHost).launch(1, 2)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 10}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 6}, {6, 8}}));
}

/// Two engines a direction: the copies share the link instead, half of it each, and the longer one has it to
/// itself from 12 on, with 10 - 6 left.
TEST_F(Ranks, CopiesOnTwoEnginesShareTheLink) {
  gpu_.copy_engines = 4;
  run({script().copy(0, worth(10), Path::HostToDevice).copy(1, worth(6), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 16}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 12}}));
}

/// 64 KiB from pageable memory come with the commands of their stream: they share the link with another
/// stream's copy, half of it each, and wait for none; the pinned one has 100 - 64 left at 128.
TEST_F(Ranks, SmallPageableCopiesNeedNoEngine) {
  run({script().copy(0, worth(100), Path::HostToDevice).pageable_copy(1, worth(64)).launch(1, 3)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 164}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 128}, {128, 131}}));
}

/// Another copy does not wait for them.
TEST_F(Ranks, SmallPageableCopiesHoldNoEngine) {
  run({script().pageable_copy(1, worth(64)).work(64).copy(0, worth(10), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 64}}));
  EXPECT_EQ(gpu(0, 0), (Spans{{64, 74}}));
  recording_ = {};
  run({script().pageable_copy(1, worth(64)).work(32).copy(0, worth(32), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 96}}));  // 32 alone, then half of the link
  EXPECT_EQ(gpu(0, 0), (Spans{{32, 96}}));
}

TEST_F(Ranks, LargerPageableCopiesQueueForTheEngine) {
  run({script().copy(0, worth(100), Path::HostToDevice).pageable_copy(1, worth(65))});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 100}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{100, 165}}));
}

/// Both GPUs' copies cross the one link from the socket to the PCIe switch. The first has it alone until 5;
/// then each gets half: its other 5 take until 15. The second has 5 left then, which take until 20.
TEST_F(Ranks, CopiesOfTwoGpusShareTheUplink) {
  run({script().copy(0, worth(10), Path::HostToDevice),
       script().work(5).copy(0, worth(10), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 15}}));
  EXPECT_EQ(gpu(1, 0), (Spans{{5, 20}}));
  double uplink = 0;
  for (const LinkUse& use : result_.links) {
    uplink = std::max(uplink, use.bytes);
  }
  EXPECT_EQ(uplink, worth(20) / Bytes{1});
}

/// Rows of 1024 bytes in host memory, as many as ticks: read by lookups, and as many written back in
/// backward.
KernelCall rows(double ticks, Direction direction) {
  const auto bags = static_cast<std::int64_t>(ticks);
  const EmbeddingTable table{.rows = std::int64_t{1} << 40,
                             .dimension = 256,
                             .pooling_factor = 1,
                             .reuse_factor = 1,
                             .location = TableLocation::Host};
  return {"rows", DataType::FP32, EmbeddingBags{.batch = bags, .tables = {table}, .direction = direction}};
}

/// Lookups of two GPUs share the uplink as copies do. They need no copy engine, so that a copy of the same
/// GPU shares the link too, and what they take is computing.
TEST_F(Ranks, KernelsThatReadHostMemoryShareTheUplink) {
  let_links_bind();
  run({script().kernel(0, rows(10, Direction::Forward)),
       script().work(5).kernel(0, rows(10, Direction::Forward))});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 15}}));
  EXPECT_EQ(gpu(1, 0), (Spans{{5, 20}}));
  EXPECT_EQ(result_.ranks[0].streams[0].compute / kTick, 15);
  EXPECT_EQ(result_.ranks[0].streams[0].copy, 0);
}

TEST_F(Ranks, KernelsThatReadHostMemoryNeedNoEngine) {
  let_links_bind();
  run({script().kernel(0, rows(10, Direction::Forward)).copy(1, worth(6), Path::HostToDevice)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 16}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 12}}));
}

/// Backward goes both ways at once: 10 alone. Beside it a copy to the host has half of that direction until
/// it ends at 12; the kernel, which advances both ways together, has 4 left.
TEST_F(Ranks, KernelsThatUpdateHostMemoryGoBothWays) {
  let_links_bind();
  run({script().kernel(0, rows(10, Direction::Backward)).copy(1, worth(6), Path::DeviceToHost)});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 16}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 12}}));
}

/// Nothing to move, as for a rank without tables: the latency of 2, and no link is used.
TEST_F(Ranks, CopyOfNothingTakesItsLatency) {
  gpu_.host_copy.latency = Seconds{2 * kTick};
  run({script().copy(0, worth(0), Path::DeviceToHost).launch(0, 3)});
  EXPECT_EQ(gpu(0, 0).back(), (Ticks{2, 5}));
}

/// A copy takes what its model says, here 2 + 10 at a quarter of the link's rate, where the link allows more.
TEST_F(Ranks, CopyIsNoFasterThanItsModel) {
  gpu_.host_copy.pinned = kTickBandwidth / 4;
  gpu_.host_copy.latency = Seconds{2 * kTick};
  run({script().copy(0, worth(10), Path::HostToDevice)});
  EXPECT_DOUBLE_EQ(gpu(0, 0)[0].second, 42);  // 2 + 4 * 10
}

/// All-reduces of two ranks load each link with the buffer once: alone 10. Together from 5 on, as the copies
/// above. The communication kernel of a member that comes early lasts from its own arrival: rank 0's second
/// one from 0.
TEST_F(Ranks, CollectivesShareLinks) {
  run({script().all_reduce(0, 0, worth(10)).all_reduce(1, 0, worth(10)),
       script().all_reduce(0, 0, worth(10)).work(5).all_reduce(1, 0, worth(10))});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 15}}));
  EXPECT_EQ(gpu(1, 0), (Spans{{0, 15}}));
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 20}}));
  EXPECT_EQ(gpu(1, 1), (Spans{{5, 20}}));
  EXPECT_EQ(recording_.gpu(0, 1)[0].transfer_start / kTick, 5);
  EXPECT_EQ(result_.ranks[0].streams[1].waiting / kTick, 5);
  EXPECT_EQ(result_.ranks[0].streams[1].transfer / kTick, 15);
}

/// A message begins when both ends are there, at 4. The links of 1 -> 2 and of 0 -> 1 are different ones.
TEST_F(Ranks, SendMeetsReceive) {
  const auto pair = [](CollectiveKind kind, int peer) {
    return CollectiveCall{kind, DataType::FP32, 0, worth(10), {}, peer};
  };
  run({script().collective(0, pair(CollectiveKind::Send, 1)),
       script()
           .collective(1, pair(CollectiveKind::Send, 2))
           .work(4)
           .collective(0, pair(CollectiveKind::Receive, 0)),
       script().collective(0, pair(CollectiveKind::Receive, 1))});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 14}}));
  EXPECT_EQ(gpu(1, 0), (Spans{{4, 14}}));
  EXPECT_EQ(gpu(1, 1), (Spans{{0, 10}}));
  EXPECT_EQ(gpu(2, 0), (Spans{{0, 10}}));
}

/// GPUs send 40, 10 and 40 and receive 25, 30 and 35 ticks' worth; all edges advance together, so the busiest
/// link says how long it takes.
TEST_F(Ranks, UnevenAllToAllTakesAsLongAsItsBusiestLink) {
  const std::vector<std::vector<double>> ticks{{0, 10, 30}, {5, 0, 5}, {20, 20, 0}};
  std::vector<Script> scripts;
  for (const auto& row : ticks) {
    CollectiveCall call{CollectiveKind::AllToAll, DataType::FP32, 0, Bytes{0}, {}, 0};
    for (const double part : row) {
      call.send_bytes.push_back(worth(part) / Bytes{1});
      call.size += worth(part);
    }
    scripts.push_back(script().collective(0, call));
  }
  run(scripts);
  EXPECT_DOUBLE_EQ(gpu(2, 0)[0].second, 40);
  double bytes = 0;
  for (const LinkUse& use : result_.links) {
    bytes += use.bytes;
  }
  EXPECT_DOUBLE_EQ(bytes, worth(2 * 90) / Bytes{1});  // every message crosses two links
}

/// A communication kernel holds 20 of 100 SMs: speed 0.8; while it transfers, half of the memory bandwidth:
/// 0.5.
class Interfering : public Ranks {
 protected:
  Interfering() {
    gpu_.communication = {20, 0.5};
    options_.interference = true;
  }
};

/// Rank 0 arrives at 10, rank 1 at 18, the transfer takes 16, until 34. Of rank 0's kernel of 100, 10 are
/// done by then, 0.8 * 8 by 18, 0.5 * 16 by 34; the other 75.6 take until 109.6. Of rank 1's: 18, then 8,
/// then 74.
TEST_F(Interfering, KernelIsSlowedWhileACommunicationKernelLives) {
  run({script().launch(0, 100).work(10).all_reduce(1, 0, worth(16)),
       script().launch(0, 100).work(18).all_reduce(1, 0, worth(16))});
  EXPECT_EQ(gpu(0, 1), (Spans{{10, 34}}));
  EXPECT_EQ(gpu(1, 1), (Spans{{18, 34}}));
  EXPECT_NEAR(gpu(0, 0)[0].second, 109.6, 1e-9);
  EXPECT_NEAR(gpu(1, 0)[0].second, 108, 1e-9);
}

/// The transfer runs from 0 to 16. A kernel of 4 that begins at 2 ends at 10; the next, of 10, has done 3 by
/// 16 and ends at 23. Copies and the collective itself are not slowed.
TEST_F(Interfering, KernelThatBeginsMeanwhileIsSlowedUntilTheEnd) {
  const Script one = script()
                         .all_reduce(1, 0, worth(16))
                         .work(2)
                         .launch(0, 4)
                         .launch(0, 10)
                         .copy(0, worth(5), Path::HostToDevice);
  run({one, script().all_reduce(1, 0, worth(16))});
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 16}}));
  EXPECT_EQ(gpu(0, 0), (Spans{{2, 10}, {10, 23}, {23, 28}}));
}

/// The larger share counts.
TEST_F(Interfering, LargerShareCounts) {
  gpu_.communication = {75, 0.5};
  run({script().launch(0, 100).all_reduce(1, 0, worth(16)), script().all_reduce(1, 0, worth(16))});
  EXPECT_EQ(gpu(0, 0), (Spans{{0, 16 + 100 - 4}}));  // a quarter of 16 is done by then
}

/// Two all-reduces of half the bytes share the links until 16, each on 20 SMs: speed 0.6, less than the
/// memory leaves when 20 SMs of 100 take 0.3 of it.
TEST_F(Interfering, CommunicationKernelsHoldTheirSmsEach) {
  gpu_.communication = {20, 0.3};
  const Script one = Script({"a", "b", "c"}, {"world", "other"})
                         .launch(0, 100)
                         .all_reduce(1, 0, worth(8))
                         .all_reduce(2, 1, worth(8));
  run({one, one}, {"world", "other"});
  EXPECT_EQ(gpu(0, 1), (Spans{{0, 16}}));
  EXPECT_EQ(gpu(0, 2), (Spans{{0, 16}}));
  EXPECT_NEAR(gpu(0, 0)[0].second, 16 + 100 - 0.6 * 16, 1e-9);
}

/// A kernel that names its limit holds no more, nor takes more than its part of the memory: 5 of 20 SMs have
/// an eighth of it.
TEST_F(Interfering, LimitOfACallCounts) {
  CollectiveCall call{CollectiveKind::AllReduce, DataType::FP32, 0, worth(16), {}, 0};
  call.sm_limit = 5;
  run({script().launch(0, 100).collective(1, call), script().collective(1, call)});
  EXPECT_NEAR(gpu(0, 0)[0].second, 16 + 100 - 0.875 * 16, 1e-9);
}

/// NCCL gives a message over NVLink as many channels as a collective: speed 0.8; over anything else two:
/// 0.98.
TEST_F(Interfering, MessageBesideNvLinkHoldsTwoSms) {
  const CollectiveCall send{CollectiveKind::Send, DataType::FP32, 0, worth(16), {}, 1};
  const CollectiveCall receive{CollectiveKind::Receive, DataType::FP32, 0, worth(16), {}, 0};
  gpu_.communication = {20, 0};
  const std::vector<Script> scripts{script().launch(0, 100).collective(1, send),
                                    script().collective(1, receive)};
  run(scripts);
  EXPECT_NEAR(gpu(0, 0)[0].second, 16 + 100 - 0.8 * 16, 1e-9);
  const std::vector<Vertex> vertices{fabric_.vertices().begin(), fabric_.vertices().end()};
  std::vector<Link> links{fabric_.links().begin(), fabric_.links().end()};
  for (Link& link : links) {
    link.kind = LinkKind::Pcie;
  }
  fabric_ = Fabric{vertices, links};
  recording_ = {};
  run(scripts);
  EXPECT_NEAR(gpu(0, 0)[0].second, 16 + 100 - 0.98 * 16, 1e-9);
}

}  // namespace
}  // namespace lockstep::testing
