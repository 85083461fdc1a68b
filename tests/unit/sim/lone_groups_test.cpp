#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/engines.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/same_result.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

constexpr std::uint8_t kCompute = 0, kReduce = 1;
constexpr std::uint32_t kAll = 0, kRail = 1;

/// 64 ranks on 8 nodes. A tree of all ranks enters and leaves nodes by other NICs, a ring of a rail by its
/// own.
class LoneGroups : public ::testing::Test {
 protected:
  /// @return how many ranks were simulated, after comparing with the job in full
  std::uint32_t folded(const Script& script) {
    Job job;
    job.steps = 3;
    job.programs.push_back(std::make_shared<Program>(script.program()));
    job.groups.push_back({"all", {}});
    for (int rail = 0; rail < 8; ++rail) {
      job.groups.push_back({"rail", {}});
    }
    for (std::uint32_t rank = 0; rank < 64; ++rank) {
      job.groups[0].ranks.push_back(rank);
      job.groups[1 + rank % 8].ranks.push_back(rank);
      job.ranks.push_back({fabric_.gpus()[rank], 0, {0, 1 + rank % 8}, {}, {}});
    }
    check(job);
    auto input = input_of(job, fabric_, planner_);
    input.plan_collective = [&](const auto& request, auto members) {
      CollectivePlan plan = planner_.plan(request, members);
      if (members.size() == job.ranks.size()) {
        std::erase_if(plan.loads, [&](const LinkLoad& load) {
          return fabric_.name_of(load.link).find("nic0") == std::string::npos;
        });
      }
      return plan;
    };
    SimulationOptions options = options_for(EngineMode::Bare);
    const SimulationResult full = simulate(input, options, nullptr);
    options.fold = true;
    const SimulationResult few = simulate(input, options, nullptr);
    EXPECT_EQ(difference(full, few), "");
    return few.simulated_ranks;
  }

  /// Gradients are reduced beside what is computed.
  static Script gradients() {
    return Script({"compute", "reduce"}, {"all", "rail"})
        .launch(kCompute, 5)
        .all_reduce(kReduce, kRail, worth(64));
  }

  Fabric fabric_ = rail_fabric(8);
  CollectivePlanner planner_{fabric_};
};

TEST_F(LoneGroups, TellNoRanksApart) {
  EXPECT_EQ(folded(gradients()
                       .record(kReduce, 0)
                       .stream_wait(kCompute, 0)
                       .all_reduce(kCompute, kAll, Bytes{4})
                       .wait_stream(kCompute)),
            1U);
}

TEST_F(LoneGroups, MayBeCalledByAnotherThreadInItsTurn) {
  EXPECT_EQ(folded(gradients()
                       .record(kReduce, 0)
                       .post(0)
                       .await(1)
                       .on("autograd")
                       .await(0)
                       .stream_wait(kCompute, 0)
                       .all_reduce(kCompute, kAll, Bytes{4})
                       .wait_stream(kCompute)
                       .post(1)),
            1U);
}

TEST_F(LoneGroups, AreNotThoseOfAThreadOutOfTurn) {
  EXPECT_GT(folded(gradients()
                       .record(kReduce, 0)
                       .post(0)
                       .on("autograd")
                       .await(0)
                       .stream_wait(kCompute, 0)
                       .all_reduce(kCompute, kAll, Bytes{4})
                       .wait_stream(kCompute)),
            1U);
}

TEST_F(LoneGroups, WaitForWhatWasIssuedBefore) {
  EXPECT_GT(folded(gradients().all_reduce(kCompute, kAll, Bytes{4}).wait_device()), 1U);
}

/// The next step reduces on another stream without waiting for this one.
TEST_F(LoneGroups, HoldUpWhatIsIssuedLater) {
  EXPECT_GT(
      folded(gradients().record(kReduce, 0).stream_wait(kCompute, 0).all_reduce(kCompute, kAll, Bytes{4})),
      1U);
}

}  // namespace
}  // namespace lockstep::testing
