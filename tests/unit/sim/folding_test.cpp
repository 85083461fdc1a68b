#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/stall.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/same_result.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using Ranks = std::vector<std::uint32_t>;

SimulationOptions folded() {
  SimulationOptions options = options_for(EngineMode::Bare);
  options.fold = true;
  return options;
}

Ranks simulated(const SimulationInput& input, const SimulationOptions& options = folded()) {
  return Simulation{input, options}.simulated_ranks();
}

void expect_same(const SimulationInput& input) {
  EXPECT_EQ(
      difference(simulate(input, options_for(EngineMode::Bare), nullptr), simulate(input, folded(), nullptr)),
      "");
}

/// Every rank sends to the next one and receives from the one before; which that is is a slot.
Job ring_of_sends(const Fabric& fabric, std::uint32_t ranks, Bytes size) {
  Program program = Script({"out", "in"}, {"ring"}).program();
  Job job;
  job.groups.push_back({"ring", {}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto peer = static_cast<int>(rank);
    program.collectives.push_back({CollectiveKind::Send, DataType::FP32, 0, size, {}, peer});
    program.collectives.push_back({CollectiveKind::Receive, DataType::FP32, 0, size, {}, peer});
    job.groups[0].ranks.push_back(rank);
    const std::uint32_t next = (rank + 1) % ranks;
    const std::uint32_t before = (rank + ranks - 1) % ranks;
    job.ranks.push_back({fabric.gpus()[rank], 0, {0}, {}, {2 * next, 2 * before + 1}});
  }
  program.threads = {{"main",
                      {{Opcode::Collective, 0, true, 0, 0, 0, 0},
                       {Opcode::Collective, 1, true, 0, 1, 0, 0},
                       {Opcode::WaitDevice, 0, false, 0, 0, 0, 0}}}};
  job.programs.push_back(std::make_shared<Program>(std::move(program)));
  return job;
}

/// All send 16 ticks' worth at once, each over its own two directions: 16 ticks.
TEST(Folding, ARingOfSendsIsOneRank) {
  const Fabric fabric = tick_machine(8);
  const CollectivePlanner planner{fabric};
  const Job job = ring_of_sends(fabric, 8, worth(16));
  const auto input = input_of(job, fabric, planner);
  EXPECT_EQ(simulated(input), Ranks{0});
  EXPECT_DOUBLE_EQ(simulate(input, folded(), nullptr).makespan().in_base_units(), 16 * kTick);
  expect_same(input);
}

/// One slow rank in a ring of sends: every other one has another distance to it.
TEST(Folding, ASlowRankInARingOfSendsTellsAllApart) {
  const Fabric fabric = tick_machine(8);
  const CollectivePlanner planner{fabric};
  const Job job = ring_of_sends(fabric, 8, worth(16));
  auto input = input_of(job, fabric, planner);
  input.host_factor.assign(8, 1.0);
  input.host_factor[2] = 2;
  EXPECT_EQ(simulated(input).size(), 8U);
  expect_same(input);
}

/// Small pageable copies beside large ones of another stream, one of which waits for the other; all GPUs
/// share the link to their switch.
TEST(Folding, RanksThatCopyAlikeAreOne) {
  const Fabric fabric = tick_machine(4);
  const CollectivePlanner planner{fabric};
  const auto program = std::make_shared<Program>(Script({"a", "b", "c"})
                                                     .copy(0, worth(100), Memcpy::Path::HostToDevice)
                                                     .work(3)
                                                     .copy(1, worth(50), Memcpy::Path::HostToDevice)
                                                     .pageable_copy(2, worth(6))
                                                     .launch(2, 5)
                                                     .wait_device()
                                                     .program());
  Job job;
  job.programs.push_back(program);
  for (const VertexId gpu : fabric.gpus()) {
    job.ranks.push_back({gpu, 0, {}, {}, {}});
  }
  const auto input = input_of(job, fabric, planner);
  EXPECT_EQ(simulated(input), Ranks{0});
  EXPECT_DOUBLE_EQ(simulate(input, folded(), nullptr).makespan().in_base_units(), 4 * 156 * kTick);
  expect_same(input);
}

class TwoNodes : public ::testing::Test {
 protected:
  Fabric fabric_ = rail_fabric(2);
  CollectivePlanner planner_{fabric_};
  Job job_ = contended_job(fabric_, 16, 1);
  SimulationInput input_ = input_for(
      job_, fabric_, [this](const auto& request, auto members) { return planner_.plan(request, members); });
};

TEST_F(TwoNodes, AreOneRank) {
  EXPECT_EQ(simulated(input_), Ranks{0});
  expect_same(input_);
}

/// Rank 3 is slow: its node is unlike the other, and its rail unlike the other rails.
TEST_F(TwoNodes, WithASlowGpuAreItItsNodeItsRailAndTheRest) {
  input_.gpu_factor.assign(16, 1.0);
  input_.gpu_factor[3] = 1.5;
  EXPECT_EQ(simulated(input_), (Ranks{0, 3, 8, 11}));
  expect_same(input_);
}

/// The NIC of ranks 2 and 10's rail is slow on the first node: their rail is unlike the others, the nodes
/// have one such rank each.
TEST_F(TwoNodes, WithASlowLinkAreThatRailAndTheRest) {
  std::vector<Link> links{fabric_.links().begin(), fabric_.links().end()};
  for (LinkId link = 0; link < links.size(); ++link) {
    if (fabric_.name_of(link) == "node0.nic2->leaf2") {
      links[link].bandwidth = 0.5 * links[link].bandwidth;
    }
  }
  const Fabric degraded{{fabric_.vertices().begin(), fabric_.vertices().end()}, std::move(links)};
  const CollectivePlanner planner{degraded};
  input_.fabric = &degraded;
  input_.plan_collective = [&](const auto& request, auto members) { return planner.plan(request, members); };
  EXPECT_EQ(simulated(input_), (Ranks{0, 2}));
  expect_same(input_);
}

TEST_F(TwoNodes, AreNotFoldedForSimGridsActorsAndFlows) {
  SimulationOptions options = folded();
  options.engine = EngineMode::S4u;
  EXPECT_EQ(simulated(input_, options).size(), 16U);
  options = folded();
  options.network = NetworkMode::Flows;
  EXPECT_EQ(simulated(input_, options).size(), 16U);
}

TEST_F(TwoNodes, AreNotFoldedUnlessAsked) {
  EXPECT_EQ(simulated(input_, options_for(EngineMode::Bare)).size(), 16U);
}

/// Four GPUs copy 8 ticks' worth over the one PCIe link of their CPU: 32 ticks, simulated by one of them.
TEST(Folding, CopiesOfFoldedRanksShareTheirLink) {
  const Fabric fabric = tick_machine(4);
  const CollectivePlanner planner{fabric};
  const Script script = Script({"s"}).copy(0, worth(8), Memcpy::Path::HostToDevice);
  Job job = job_of(fabric, {script, script, script, script});
  for (RankAssignment& rank : job.ranks) {
    rank.program = 0;
  }
  const auto input = input_of(job, fabric, planner);
  const SimulationResult result = simulate(input, folded(), nullptr);
  EXPECT_EQ(result.simulated_ranks, 1U);
  EXPECT_DOUBLE_EQ(result.makespan().in_base_units(), 32 * kTick);
  expect_same(input);
}

/// Ranks 0 and 2 wait for a collective that ranks 1 and 3 never make.
TEST(Folding, AStallIsToldAsWithoutFolding) {
  const Fabric fabric = tick_machine(4);
  const CollectivePlanner planner{fabric};
  const Script caller = Script({"s"}, {"pair"}).all_reduce(0, 0, worth(4));
  const Script absent = Script({"s"}, {"pair"}).work(1);
  Job job = job_of(fabric, {caller, absent, caller, absent}, {{"pair", {0, 1}}});
  job.groups.push_back({"pair", {2, 3}});
  job.ranks[2].program = 0;
  job.ranks[3].program = 1;
  job.ranks[2].groups = job.ranks[3].groups = {1};
  const auto input = input_of(job, fabric, planner);
  const auto message = [&](const SimulationOptions& options) -> std::string {
    try {
      simulate(input, options, nullptr);
    } catch (const StallError& stall) {
      return stall.what();
    }
    return "no stall";
  };
  EXPECT_EQ(simulated(input), (Ranks{0, 1}));
  EXPECT_EQ(message(folded()), message(options_for(EngineMode::Bare)));
  EXPECT_NE(message(folded()).find("missing rank 1"), std::string::npos) << message(folded());
}

}  // namespace
}  // namespace lockstep::testing
