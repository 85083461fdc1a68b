/// @file
/// Chakra traces whose duration can be worked out on paper. Ticks as in tests/support/script.hpp do not
/// apply: traces count whole microseconds.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ops/collectives/collective_planner.hpp"
#include "sim/simulation.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"
#include "traces/chakra/chakra_job.hpp"

namespace lockstep::testing {
namespace {

class ChakraModel : public ::testing::Test {
 protected:
  /// Seconds for @p repeats runs of what the folder holds, on @p ranks GPUs of one NVSwitch.
  double makespan(int ranks, int repeats = 1, const chakra::NodeRates& rates = {}) {
    const Fabric fabric = tick_machine(ranks);
    ChakraSpec spec;
    spec.chakra = "%d.et";
    spec.repeats = repeats;
    const std::vector<chakra::NodeRates> of_rank(static_cast<std::size_t>(ranks), rates);
    const Job job = chakra_job(spec, folder_.path(), fabric.gpus(), of_rank);
    const CollectivePlanner planner{fabric, rings()};
    SimulationOptions options;
    options.engine = EngineMode::Bare;
    return simulate(input_of(job, fabric, planner), options, nullptr).makespan().in_base_units();
  }
  void write(int rank, const EtWriter& trace) { folder_.write(fmt::format("{}.et", rank), trace.text()); }
  void write_all(int ranks, const EtWriter& trace) {
    for (int rank = 0; rank < ranks; ++rank) {
      write(rank, trace);
    }
  }
  test::ScratchFolder folder_;
};

// Nodes that follow each other take the sum of their durations, and a run begins when the one before has
// ended.
TEST_F(ChakraModel, AChainTakesTheSumOfItsNodes) {
  EtWriter trace;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    trace.compute("c", i == 0 ? EtWriter::Ids{} : EtWriter::Ids{i - 1}, 500 + i);
  }
  write_all(2, trace);
  EXPECT_NEAR(makespan(2), 1e-6 * (1000 * 500 + 499'500), 1e-12);
  EXPECT_NEAR(makespan(2, 3), 3e-6 * (1000 * 500 + 499'500), 1e-12);
}

// Links without latency, ring: T = 2 (n-1)/n size / B. With 4 ranks and 2^20 bytes at 2^30 B/s: 1.5 x 2^-10
// s.
TEST_F(ChakraModel, AnAllReduceTakesItsClosedForm) {
  EtWriter trace;
  trace.all_reduce({}, 1 << 20);
  write_all(4, trace);
  EXPECT_NEAR(makespan(4), 1.5 / 1024, 1e-12);
}

/// Data-parallel training: L layers forward (f each), backward (b each) with an all-reduce of T after every
/// backward node, an optimizer (u) that waits for all.
EtWriter data_parallel(std::uint64_t layers, std::uint64_t f, std::uint64_t b, std::uint64_t u,
                       std::uint64_t bytes) {
  EtWriter trace;
  EtWriter::Ids before;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    before = {trace.compute("forward", before, f)};
  }
  EtWriter::Ids all;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    before = {trace.compute("backward", before, b)};
    all.push_back(trace.all_reduce(before, bytes));
  }
  all.push_back(before.front());
  trace.compute("optimizer", all, u);
  return trace;
}

// All-reduces run one after the other, each after its backward node. Shorter than a backward node (T <= b),
// all but the last hide: L f + L b + T + u. Longer, they form a queue from the end of the first: L f + b + L
// T + u.
TEST_F(ChakraModel, DataParallelHidesAllReducesBehindTheBackwardPass) {
  constexpr double kLayers = 33;
  for (const std::uint64_t bytes : {1U << 19U, 1U << 20U, 1U << 21U}) {
    write_all(4, data_parallel(33, 500, 1000, 2000, bytes));
    const double t = 1.5 * static_cast<double>(bytes) / (1 << 30);
    const double hidden = kLayers * 500e-6 + kLayers * 1000e-6 + t + 2000e-6;
    const double queued = kLayers * 500e-6 + 1000e-6 + kLayers * t + 2000e-6;
    EXPECT_NEAR(makespan(4), t <= 1000e-6 ? hidden : queued, 1e-9) << bytes;
  }
}

// A collective begins when the last member has arrived: rank 1 comes 300 us later, and rank 0 waits.
TEST_F(ChakraModel, ACollectiveWaitsForTheSlowestRank) {
  for (int rank = 0; rank < 2; ++rank) {
    EtWriter trace;
    trace.compute("a", {}, rank == 0 ? 100 : 400);
    trace.all_reduce({0}, 1 << 20);
    trace.compute("b", {1}, 50);
    write(rank, trace);
  }
  EXPECT_NEAR(makespan(2), 450e-6 + 1.0 / 1024, 1e-12);
}

// Links without latency: a message of 2^20 bytes at 2^30 B/s takes 2^-10 s, after the sender's and before the
// receiver's compute node. Of two runs the sender's second compute node runs beside the receiver's first.
TEST_F(ChakraModel, AMessageTakesItsBytesOverTheBandwidth) {
  EtWriter first;
  first.send(1, 7, {first.compute("fwd", {}, 1000)}, 1 << 20);
  EtWriter second;
  second.compute("fwd", {second.receive(0, 7, {}, 1 << 20)}, 1000);
  write(0, first);
  write(1, second);
  EXPECT_NEAR(makespan(2), 2000e-6 + 1.0 / 1024, 1e-9);
  EXPECT_NEAR(makespan(2, 2), 3000e-6 + 2.0 / 1024, 1e-9);
}

// No send waits for its receive: the message has come long before rank 1 asks for it.
TEST_F(ChakraModel, SendsAreEager) {
  EtWriter first;
  first.compute("after", {first.send(1, 0, {}, 1 << 20)}, 10);
  EtWriter second;
  second.compute("after", {second.receive(0, 0, {second.compute("before", {}, 5000)}, 1 << 20)}, 1000);
  write(0, first);
  write(1, second);
  EXPECT_NEAR(makespan(2), 6000e-6, 1e-9);
}

// All send first, and receive once that is done: where sends waited for their receives, nobody could go on.
TEST_F(ChakraModel, ARingInWhichAllSendFirstGoesOn) {
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    EtWriter trace;
    trace.receive((rank + 3) % 4, 0, {trace.send((rank + 1) % 4, 0, {}, 1 << 20)}, 1 << 20);
    write(static_cast<int>(rank), trace);
  }
  EXPECT_NEAR(makespan(4), 1.0 / 1024, 1e-9);
}

// 2 (n-1) rounds of messages of size / n, each after the one received before: the closed form of the ring.
TEST_F(ChakraModel, AnAllReduceOfMessagesTakesWhatTheCollectiveTakes) {
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    EtWriter trace;
    EtWriter::Ids before;
    for (int round = 0; round < 6; ++round) {
      trace.send((rank + 1) % 4, 0, before, 1 << 18);
      before = {trace.receive((rank + 3) % 4, 0, {}, 1 << 18)};
    }
    write(static_cast<int>(rank), trace);
  }
  EXPECT_NEAR(makespan(4), 1.5 / 1024, 1e-9);
}

// The first message can be sent once its sender has what the second message is for: tags tell them apart, and
// neither stands in the other's way. T = 3 messages, one after the other.
TEST_F(ChakraModel, MessagesMeetByTheirTags) {
  EtWriter first;
  first.send(1, 1, {2}, 1 << 20);
  first.send(1, 2, {}, 1 << 20);
  first.receive(1, 3, {}, 1 << 20);
  EtWriter second;
  second.receive(0, 2, {}, 1 << 20);
  second.send(0, 3, {0}, 1 << 20);
  second.receive(0, 1, {}, 1 << 20);
  write(0, first);
  write(1, second);
  EXPECT_NEAR(makespan(2), 3.0 / 1024, 1e-9);
}

// More ranks than streams: 33 messages of 2^15 bytes leave each GPU, over one link of 2^30 B/s.
TEST_F(ChakraModel, AnExchangeOfMessagesBetweenManyRanksGoesOn) {
  constexpr std::uint64_t kRanks = 34;
  for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
    EtWriter trace;
    for (std::uint64_t other = 0; other < kRanks; ++other) {
      if (other != rank) {
        trace.send(other, 0, {}, 1 << 15);
        trace.receive(other, 0, {}, 1 << 15);
      }
    }
    write(static_cast<int>(rank), trace);
  }
  const double at_least = 33.0 / (1 << 15);
  const double took = makespan(kRanks);
  EXPECT_GE(took, at_least * (1 - 1e-9));
  EXPECT_LT(took, 2 * at_least);
}

// max(operations / peak, bytes / bandwidth): 3e9 / 1e12 = 3 ms, 4e9 / 2e12 = 2 ms, and none of a node that
// says its duration.
TEST_F(ChakraModel, OperationsAndBytesTakeWhatTheGpuNeedsAtLeast) {
  EtWriter trace;
  trace.work(4, {}, 3'000'000'000, 1000);
  trace.work(4, {0}, 1000, 4'000'000'000);
  trace.compute("timed", {1}, 500);
  write(0, trace);
  const chakra::NodeRates rates{FlopsPerSecond{1e12}, BytesPerSecond{2e12}};
  EXPECT_NEAR(makespan(1, 1, rates), 5500e-6, 1e-9);
}

}  // namespace
}  // namespace lockstep::testing
