#include "sim/stall.hpp"

#include <gtest/gtest.h>

#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

const std::string kRule =
    "; the members of a group must call the same collectives in the same order, with the same type, size and "
    "root";
const std::string kStalled = "the simulated job cannot go on:";

/// Jobs of ranks on one node that cannot go on. Every engine must say so in the same words, leave nothing
/// else on the terminal (SimGrid has a report of its own) and end in good order.
class Stalled : public ::testing::Test {
 protected:
  static Script script() { return Script({"a", "b"}, {"left", "right"}); }
  static CollectiveCall call(CollectiveKind kind, Bytes size, DataType type = DataType::FP32, int peer = 0) {
    return {kind, type, 0, size, {}, peer};
  }

  static void expect(const std::vector<Script>& scripts, const std::string& text) {
    const Fabric fabric = tick_machine(static_cast<int>(scripts.size()));
    const CollectivePlanner planner{fabric, rings()};
    std::vector<std::uint32_t> everybody;
    for (std::uint32_t rank = 0; rank < scripts.size(); ++rank) {
      everybody.push_back(rank);
    }
    const Job job = job_of(fabric, scripts, {{"left", everybody}, {"right", everybody}});
    const auto input = input_of(job, fabric, planner);
    auto all = every_engine();
    all.push_back({"flows", options_for(EngineMode::RunAhead, false, NetworkMode::Flows)});
    all.push_back({"flows, s4u", options_for(EngineMode::S4u, false, NetworkMode::Flows)});
    for (const auto& [name, options] : all) {
      bool is_stall = false;
      const auto outcome = watch_child(
          [&, chosen = options]() -> std::string {
            try {
              (void)simulate(input, chosen, nullptr);
            } catch (const StallError& stall) {
              return stall.what();
            }
            return "it ran to its end";
          },
          std::chrono::seconds{20});
      is_stall = outcome.error.empty();
      EXPECT_TRUE(is_stall) << name << ": " << outcome.error;
      EXPECT_EQ(outcome.result, text) << name;
      EXPECT_EQ(outcome.printed, "") << name;
      EXPECT_EQ(outcome.exit_code, 0) << name;
      EXPECT_FALSE(outcome.timed_out) << name;
    }
  }
};

TEST_F(Stalled, SizesDiffer) {
  expect({script().all_reduce(0, 0, Bytes{4e6}), script().all_reduce(0, 0, Bytes{8e6})},
         "collective 0 of group 'left' does not match: rank 0 calls all_reduce of 4 MB, rank 1 calls "
         "all_reduce of "
         "8 MB" +
             kRule);
}

TEST_F(Stalled, KindsDiffer) {
  expect({script().collective(0, call(CollectiveKind::AllReduce, Bytes{4e6})),
          script().collective(0, call(CollectiveKind::AllGather, Bytes{4e6}))},
         "collective 0 of group 'left' does not match: rank 0 calls all_reduce of 4 MB, rank 1 calls "
         "all_gather of "
         "4 MB" +
             kRule);
}

/// The message shows the difference.
TEST_F(Stalled, TypesOrRootsDiffer) {
  expect({script().collective(0, call(CollectiveKind::AllReduce, Bytes{4e6})),
          script().collective(0, call(CollectiveKind::AllReduce, Bytes{4e6}, DataType::BF16))},
         "collective 0 of group 'left' does not match: rank 0 calls all_reduce of 4 MB FP32, rank 1 calls "
         "all_reduce "
         "of 4 MB BF16" +
             kRule);
  expect({script().collective(0, call(CollectiveKind::Broadcast, Bytes{4e6})),
          script().collective(0, call(CollectiveKind::Broadcast, Bytes{4e6}, DataType::FP32, 1))},
         "collective 0 of group 'left' does not match: rank 0 calls broadcast of 4 MB with root 0, rank 1 "
         "calls "
         "broadcast of 4 MB with root 1" +
             kRule);
}

TEST_F(Stalled, OrdersDiffer) {
  const Bytes small{1e3};
  expect({script().all_reduce(0, 0, small).all_reduce(0, 0, small).all_reduce(0, 0, Bytes{4e6}),
          script().all_reduce(0, 0, small).all_reduce(0, 0, Bytes{4e6}).all_reduce(0, 0, small)},
         "collective 1 of group 'left' does not match: rank 0 calls all_reduce of 1 kB, rank 1 calls "
         "all_reduce of "
         "4 MB" +
             kRule);
}

TEST_F(Stalled, MessageIsShorterThanExpected) {
  expect(
      {script().collective(0, call(CollectiveKind::Send, Bytes{4e6}, DataType::FP32, 1)),
       script().collective(0, call(CollectiveKind::Receive, Bytes{8e6}, DataType::FP32, 0))},
      "collective 0 of group 'left' does not match: rank 0 calls send of 4 MB, rank 1 calls receive of 8 MB" +
          kRule);
}

TEST_F(Stalled, MemberIsDoneWithoutIt) {
  expect({script().all_reduce(0, 0, Bytes{4e6}).wait_device(), script().launch(0, 5)},
         kStalled +
             "\n  rank0.a is in all_reduce 0 of group 'left': 1 of 2 members have arrived, missing rank 1; "
             "rank 1 has "
             "finished its program without it");
  expect({script().launch(0, 5), script().launch(1, 5), script().all_reduce(1, 1, Bytes{4e6})},
         kStalled +
             "\n  rank2.b is in all_reduce 0 of group 'right': 1 of 3 members have arrived, missing rank 0, "
             "1; rank 0 "
             "has finished its program without it");
}

/// Each host waits for its first collective before it launches the one that the other rank waits for.
TEST_F(Stalled, GroupsWaitForEachOtherAcrossStreams) {
  expect({script().all_reduce(0, 0, Bytes{4e6}).wait_stream(0).all_reduce(1, 1, Bytes{4e6}),
          script().all_reduce(1, 1, Bytes{4e6}).wait_stream(1).all_reduce(0, 0, Bytes{4e6})},
         kStalled +
             "\n  rank0.a is in all_reduce 0 of group 'left': 1 of 2 members have arrived, missing rank 1"
             "\n  rank1.b is in all_reduce 0 of group 'right': 1 of 2 members have arrived, missing rank 0"
             "\n  and so round again to rank0.a");
}

TEST_F(Stalled, GroupsWaitForEachOtherOnOneStream) {
  expect({script().launch(0, 3).all_reduce(0, 0, Bytes{4e6}).all_reduce(0, 1, Bytes{4e6}),
          script().launch(0, 5).all_reduce(0, 1, Bytes{4e6}).all_reduce(0, 0, Bytes{4e6})},
         kStalled +
             "\n  rank0.a is in all_reduce 0 of group 'left': 1 of 2 members have arrived, missing rank 1"
             "\n  rank1.a is in all_reduce 0 of group 'right': 1 of 2 members have arrived, missing rank 0"
             "\n  and so round again to rank0.a");
}

/// The chain goes from the stream that waits for an event to the stream on which it would happen.
TEST_F(Stalled, EventNeverHappens) {
  expect({script().all_reduce(1, 0, Bytes{4e6}).record(1, 0).stream_wait(0, 0).launch(0, 1).post(0),
          script().launch(0, 5)},
         kStalled +
             "\n  rank0.a waits for an event"
             "\n  rank0.b is in all_reduce 0 of group 'left': 1 of 2 members have arrived, missing rank 1; "
             "rank 1 has "
             "finished its program without it");
}

TEST_F(Stalled, FlagIsNeverPosted) {
  expect({script().launch(0, 1).await(0)}, kStalled + "\n  rank0.main waits for a flag that no thread posts");
}

/// A collective that some ranks never call does not hide behind the work of the others, which goes on.
TEST_F(Stalled, OthersFinishTheirWorkFirst) {
  Script busy = script();
  for (int i = 0; i < 2000; ++i) {  // more than any look-ahead
    busy.launch(0, 3, 1);
  }
  expect({script().all_reduce(0, 0, Bytes{4e6}), busy},
         kStalled +
             "\n  rank0.a is in all_reduce 0 of group 'left': 1 of 2 members have arrived, missing rank 1; "
             "rank 1 has "
             "finished its program without it");
}

}  // namespace
}  // namespace lockstep::testing
