/// @file
/// Replays of small profiles, as the command makes them.

#include "scenario/replay_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/replay_report.hpp"
#include "base/error.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using testing::all_reduced;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KinetoText;
using testing::message;

class ReplayRunTest : public ::testing::Test {
 protected:
  void write(const KinetoText& profile, const std::string& name = "r0.json") const {
    folder_.write(name, profile.text());
  }
  [[nodiscard]] ReplayRun replay(const std::string& edits = "{}") const {
    return {{folder_.path().string()}, YamlDocument::from_text(edits, "edits"), ConfigPath::standard()};
  }
  test::ScratchFolder folder_;
};

/// Two steps of three kernels of 100 us, which the host launches in 40 us: kernels of half the time halve
/// the step, a faster host does next to nothing.
TEST_F(ReplayRunTest, StepsOfAHostThatRunsAheadAreTheGpus) {
  KinetoText profile;
  for (int kernel = 0; kernel < 6; ++kernel) {
    const int at = 40 * (kernel / 3) + 10 * (kernel % 3);
    if (kernel % 3 == 0) {
      profile.op("ProfilerStep#0", at, 40);
    }
    profile.call("cudaLaunchKernel", at + 2, 5, kernel + 1);
    profile.kernel("gemm", 10 + 100 * kernel, 100, 7, kernel + 1);
  }
  write(profile);
  const auto step = [this](const std::string& edits) {
    const ReplayRun run = replay(edits);
    return mean_step(run.simulate(&run.spec().what_if)).simulated;
  };
  EXPECT_NEAR(step("{}"), 305e-6, 1e-9);
  EXPECT_NEAR(step("what_if: { gpu_speed: 2 }"), 155e-6, 1e-9);
  EXPECT_NEAR(step("what_if: { host_speed: 2 }"), 303.25e-6, 1e-9);  // the first kernel begins 3.5 us earlier
}

/// Rank 0 computes for 100 us and sends in 20; rank 1, which was ready at 10, receives and computes for 50.
/// Its receive is 100 of waiting and 20 of transfer.
class PipelineReplay : public ReplayRunTest {
 protected:
  void write_both(const std::string& target, const std::string& source, int sent = 110) const {
    write(KinetoText{0, 2}
              .call("cudaLaunchKernel", 0, 5, 1)
              .call("cudaStreamWaitEvent", 6, 1)
              .call("cudaLaunchKernel", 8, 5, 2)
              .kernel("gemm", 10, 100, 7, 1)
              .kernel("ncclDevKernel_SendRecv", sent, 20, 20, 2, message("send", 1000, target)));
    write(KinetoText{1, 2}
              .call("cudaLaunchKernel", 0, 5, 1)
              .call("cudaLaunchKernel", 6, 5, 2)
              .call("cudaStreamWaitEvent", 12, 1)
              .call("cudaLaunchKernel", 14, 5, 3)
              .kernel("ncclDevKernel_SendRecv", 10, 120, 20, 2, message("recv", 1000, source))
              .kernel("gemm", 131, 50, 7, 3),
          "r1.json");
  }
  [[nodiscard]] double span(const std::string& edits) const {
    const ReplayRun run = replay(edits);
    return run.simulate(&run.spec().what_if).simulation.makespan().in_base_units();
  }
};

TEST_F(PipelineReplay, ReceivesWaitAnew) {
  write_both(R"("Dst Rank":1)", R"("Src Rank":0)");
  const double recorded = span("{}");
  EXPECT_NEAR(span("what_if: { communication: 3 }") - recorded, 40e-6, 1e-9);
  EXPECT_NEAR(span("what_if: { collectives: [{ match: send, bytes: 0.5 }] }") - recorded, -10e-6, 1e-9);
  EXPECT_NEAR(span("what_if: { gpu_speed: 2 }") - recorded, -75e-6, 1e-9);
  const ReplayRun run = replay();
  EXPECT_NEAR(run.simulate(nullptr).ranks[1].waiting, 100e-6, 1e-9);
}

/// A step of rank 0 from 0 to 128, of rank 1 from 13 to 181: of the job from 0 to 181.
TEST_F(PipelineReplay, StepsOfTheJobEndOnAllRanks) {
  const auto with_step = [](int rank, int begin) {
    return KinetoText{rank, 2}
        .op("ProfilerStep#0", begin, 30)
        .call("cudaLaunchKernel", begin + 1, 5, 1)
        .kernel("gemm", begin + 8, 120 + 40 * rank, 7, 1);
  };
  write(with_step(0, 0));
  write(with_step(1, 13), "r1.json");
  const ReplayRun run = replay();
  const ReplayRun::Result plain = run.simulate(nullptr);
  EXPECT_NEAR(replay::mean_step(plain.ranks[0]).measured, 128e-6, 1e-9);
  EXPECT_NEAR(replay::mean_step(plain.ranks[1]).measured, 168e-6, 1e-9);
  EXPECT_NEAR(mean_step(plain).measured, 181e-6, 1e-9);
  EXPECT_NEAR(mean_step(plain).simulated, 181e-6, 1e-9);
}

TEST_F(PipelineReplay, OnAClusterMessagesAreSimulated) {
  write_both(R"("Dst Rank":1)", R"("Src Rank":0)");
  const ReplayRun run = replay("cluster: dgx_a100");
  ASSERT_EQ(run.transfers().size(), 1U);
  EXPECT_EQ(run.transfers()[0].kind, CollectiveKind::Send);
  EXPECT_EQ(run.transfers()[0].size, Bytes{4000});
  EXPECT_GT(run.transfers()[0].predicted, 0);
}

/// The message of 4 kB takes what the other machine's links take, in place of the recorded 20 us.
TEST_F(PipelineReplay, OnAnotherMachineMessagesAreThatMachines) {
  write_both(R"("Dst Rank":1)", R"("Src Rank":0)");
  const double recorded = span("{}");
  const double there = span("what_if: { cluster: dgx_h100 }");
  EXPECT_LT(there, recorded);
  EXPECT_NEAR(there, span("{ cluster: dgx_h100 }"), 1e-12);  // as if it had been the replay's machine
}

/// Two nodes with one GPU each: the message crosses the network, which PCIe 4.0 does not let go faster.
TEST_F(PipelineReplay, AFasterNetworkCarriesMessagesFaster) {
  write_both(R"("Dst Rank":1)", R"("Src Rank":0)");
  const std::string two =
      "cluster: { nodes: [{ node: { from: dgx_a100, vertices: [{ name: gpu, kind: gpu }, "
      "{ name: nic, kind: nic }], links: [{ connect: gpu, with: nic, link: pcie4_x16 }] }, "
      "count: 2 }] }";
  const double usual = span("{ " + two + " }");
  const double slower = span("{ " + two + ", what_if: { network: { faster: 0.25 } } }");
  EXPECT_LE(span("{ " + two + ", what_if: { network: 4 } }"), usual);
  EXPECT_GT(slower, usual);
  EXPECT_GT(span("{ " + two + ", what_if: { network: { faster: 0.125 } } }"), slower);
  const ReplayRun run = replay("{ " + two + ", what_if: { network: 4 } }");
  const auto changes = replay::one_by_one(run.spec().what_if);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].name, "network 4 times as fast");
  const ReplayRun::Result plain = run.simulate(nullptr);
  const std::string said = replay_sentence(run, plain, {{changes[0].name, run.simulate(&changes[0].edit)}});
  EXPECT_THAT(said, HasSubstr("On dgx_a100 x 2 the step takes "));
  EXPECT_THAT(said, HasSubstr("With network 4 times as fast the step takes "));
}

TEST_F(PipelineReplay, AskedOfANetworkThatThereIsNotItSaysSo) {
  write_both(R"("Dst Rank":1)", R"("Src Rank":0)");
  const auto complaint = [&](const std::string& edits) -> std::string {
    try {
      (void)span(edits);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(complaint("what_if: { network: 2 }"),
              HasSubstr("what_if.network: say the machine that was recorded, whose network this changes"));
  EXPECT_THAT(complaint("{ cluster: dgx_a100, what_if: { network: 2 } }"),
              HasSubstr("what_if.network: the machine is one node"));
  EXPECT_THAT(complaint("what_if: { network: { faster: 0 } }"), HasSubstr("must be greater than 0"));
}

TEST_F(PipelineReplay, TellsWhichMessagesItCannotMatch) {
  write_both(R"("Rank":1)", R"("Rank":0)");
  const ReplayRun run = replay();
  EXPECT_THAT(
      to_text(whole_report(run.replay())),
      HasSubstr("send or receive without its partner: no trace holds the other end, or which rank that is"));
  EXPECT_THAT(to_text(whole_report(run.replay())), HasSubstr("100 % of the time of communication kernels"));
}

/// Sent from 0 to 5, before the receiver began: there was no waiting for each other.
TEST_F(PipelineReplay, MessagesThatWaitedInABufferDidNotMeet) {
  write(KinetoText{0, 2}
            .call("cudaLaunchKernel", 0, 2, 1)
            .kernel("ncclDevKernel_SendRecv", 2, 4, 20, 1, message("send", 10, R"("Dst Rank":1)"))
            .call("cudaLaunchKernel", 40, 2, 2)
            .kernel("ncclDevKernel_AllReduce", 50, 20, 21, 2, all_reduced(100, 2)));
  write(KinetoText{1, 2}
            .call("cudaLaunchKernel", 10, 2, 1)
            .kernel("ncclDevKernel_SendRecv", 15, 4, 20, 1, message("recv", 10, R"("Src Rank":0)"))
            .call("cudaLaunchKernel", 40, 2, 2)
            .kernel("ncclDevKernel_AllReduce", 45, 25, 21, 2, all_reduced(100, 2)),
        "r1.json");
  const ReplayRun run = replay();
  EXPECT_THAT(to_text(whole_report(run.replay())), HasSubstr("send or receive without its partner"));
  EXPECT_NEAR(run.simulate(nullptr).ranks[0].communication.error(), 0, 1e-6);
}

/// An all-reduce of `ranks`, of a job of 8.
KinetoText of_eight(int rank, const std::string& ranks, int size) {
  return KinetoText{rank, 8}
      .call("cudaLaunchKernel", 0, 5, 1)
      .kernel("ncclDevKernel_AllReduce", 10, 50, 20, 1,
              all_reduced(1000, size) +
                  fmt::format(R"(,"Process Group Name":"3","Process Group Ranks":"{}")", ranks));
}

class GroupsOfReplay : public ReplayRunTest {
 protected:
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> groups(const std::string& edits) const {
    const ReplayRun run = replay(edits);
    std::vector<std::vector<std::uint32_t>> made;
    for (const ProcessGroup& group : run.replay().job.groups) {
      made.push_back(group.ranks);
    }
    return made;
  }
  [[nodiscard]] std::string report(const std::string& edits) const {
    return to_text(whole_report(replay(edits).replay()));
  }
};

TEST_F(GroupsOfReplay, OfASingleTraceAreTheRecordedOnes) {
  write(of_eight(0, "[0, 2, 4, 6]", 4));
  EXPECT_THAT(groups("cluster: dgx_a100"), ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
  EXPECT_THAT(report("cluster: dgx_a100"), HasSubstr("group '3': 2 times 4 ranks, the first 0, 2, 4, 6"));
  EXPECT_EQ(replay("cluster: dgx_a100").transfers().at(0).ranks, 4U);
  EXPECT_EQ(groups("{ cluster: dgx_a100 x 2, ranks: 16 }").size(), 4U);
  EXPECT_THROW((void)groups("{ cluster: dgx_a100, ranks: 6 }"), InputError);
}

TEST_F(GroupsOfReplay, OfTheWholeJobAreOfAllRanks) {
  write(of_eight(0, "[0, 1, 2, 3, 4, 5, 6, 7]", 8));
  const auto made = groups("{ cluster: dgx_a100 x 2, ranks: 16 }");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].size(), 16U);
}

TEST_F(GroupsOfReplay, OfWhichOnlyTheSizeIsSaidAreNeighbours) {
  write(of_eight(0, "", 4));
  EXPECT_THAT(groups("cluster: dgx_a100"), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(report("cluster: dgx_a100"), HasSubstr("process groups whose ranks are not said"));
}

/// Traces of ranks 0 and 1 stand for 8: each one's group is of ranks that do what it does.
TEST_F(GroupsOfReplay, OfOneOfSeveralTracesMeetItsCopies) {
  write(of_eight(0, "[0, 2, 4, 6]", 4));
  write(of_eight(1, "[1, 3, 5, 7]", 4), "r1.json");
  EXPECT_THAT(groups("{ cluster: dgx_a100, ranks: 8 }"),
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
}

/// Two of four of eight traces are in the group: with `ranks: 8` it is whole, else it is reported as half.
TEST_F(GroupsOfReplay, OfFewerTracesThanRanksAreWholeOrTold) {
  for (int rank = 0; rank < 4; ++rank) {
    write(of_eight(rank, rank % 2 == 0 ? "[0, 2, 4, 6]" : "[1, 3, 5, 7]", 4), fmt::format("r{}.json", rank));
  }
  EXPECT_THAT(groups("{ cluster: dgx_a100, ranks: 8 }"),
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
  EXPECT_THAT(groups("cluster: dgx_a100"), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(report("cluster: dgx_a100"), HasSubstr("group '3' of 4 ranks as 2"));
}

}  // namespace
}  // namespace lockstep
