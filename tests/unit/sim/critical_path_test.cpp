#include "sim/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "sim/activity_meter.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep {

void PrintTo(const CriticalShare& share, std::ostream* out) {
  *out << share.what << ": " << share.seconds / testing::kTick << " ticks in " << share.pieces
       << ", bound by '" << share.bottleneck << "'";
}

}  // namespace lockstep

namespace lockstep::testing {

namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;

auto is_share(const std::string& what, double ticks, std::uint32_t pieces = 1,
              const std::string& bottleneck = "") {
  return AllOf(Field(&CriticalShare::what, what), Field(&CriticalShare::seconds, DoubleEq(ticks * kTick)),
               Field(&CriticalShare::pieces, pieces), Field(&CriticalShare::bottleneck, bottleneck));
}

auto is_piece(const std::string& what, double ticks) {
  return AllOf(Field(&CriticalShare::what, what), Field(&CriticalShare::seconds, DoubleEq(ticks * kTick)),
               Field(&CriticalShare::pieces, 1));
}

/// Host work, a kernel, an all-reduce of 16 that waits for it, a kernel that waits for the all-reduce, a
/// wait.
Script training_step(double kernel) {
  return Script({"compute", "communication"}, {"world"})
      .work(2)
      .launch(0, kernel, 1, "backward")
      .record(0, 0)
      .stream_wait(1, 0)
      .all_reduce(1, 0, worth(16))
      .record(1, 1)
      .stream_wait(0, 1)
      .launch(0, 5, 0, "optimizer")
      .wait_device(2);
}

/// Rank 0 is slower (30 against 10). Its kernel is launched at 3, starts at 7 after a latency of 4, ends at
/// 37; the all-reduce meets there and ends at 53, the optimizer at 58 after a gap of 0, the wait at 60.
class TwoRanks : public ::testing::Test {
 protected:
  Fabric fabric_ = tick_machine(2);
  CollectivePlanner planner_{fabric_, rings()};

  SimulationResult run(double first, double second, int steps = 1) {
    const Job job =
        job_of(fabric_, {training_step(first), training_step(second)}, {{"world", {0, 1}}}, steps);
    auto input = input_of(job, fabric_, planner_);
    input.gpu_models.front().launch_to_start = Seconds{4 * kTick};
    return simulate(input, options_for(EngineMode::Bare), nullptr);
  }
};

TEST_F(TwoRanks, PathGoesThroughTheSlowerOne) {
  for (const auto& result : {run(30, 10), run(10, 30)}) {
    EXPECT_EQ(result.makespan() / Seconds{kTick}, 60);
    EXPECT_THAT(
        result.critical_path,
        ElementsAre(is_share("backward", 30), is_share("all_reduce", 16, 1, "gpu0->nvswitch#2"),
                    is_share("optimizer", 5), is_share("launch latency", 4),
                    is_share("host: return from a wait", 2), is_share("host: work", 2), is_share("host", 1)));
  }
}

/// Steps do not overlap here, so the path of the last one is the same as that of a single one.
TEST_F(TwoRanks, PathIsThatOfTheLastStep) {
  const auto one = run(30, 10);
  const auto three = run(30, 10, 3);
  ASSERT_EQ(three.critical_path.size(), one.critical_path.size());
  for (std::size_t i = 0; i < one.critical_path.size(); ++i) {
    EXPECT_EQ(three.critical_path[i].what, one.critical_path[i].what);
    EXPECT_DOUBLE_EQ(three.critical_path[i].seconds, one.critical_path[i].seconds);
  }
}

KernelCall copy_of(const std::string& name, double ticks) {
  return {name, DataType::FP32, Memcpy{worth(ticks), Memcpy::Path::HostToDevice, true}};
}

/// Each step: a copy of 10, behind it one of 6 that the engine is not free for, and a kernel. They are ready
/// at 0, 1 and 16.
TEST(CriticalPath, GoesOnFromTheCopyThatHeldTheEngine) {
  const Fabric fabric = tick_machine(1);
  const CollectivePlanner planner{fabric};
  const Script script = Script({"a", "b"})
                            .kernel(0, copy_of("large", 10))
                            .work(1)
                            .kernel(1, copy_of("small", 6))
                            .launch(1, 2, 0, "kernel")
                            .wait_device();
  for (const int steps : {1, 3}) {
    const Job job = job_of(fabric, {script}, {}, steps);
    const auto result = simulate(input_of(job, fabric, planner), options_for(EngineMode::Bare), nullptr);
    EXPECT_EQ(result.makespan() / Seconds{kTick}, 18 * steps);
    EXPECT_THAT(result.critical_path,
                ElementsAre(is_piece("large", 10), is_piece("small", 6), is_piece("kernel", 2)));
  }
}

/// The engine was held by the copy of the step before, which is no longer on the path of this one.
TEST(CriticalPath, EndsAtACopyOfTheStepBefore) {
  const Fabric fabric = tick_machine(1);
  const CollectivePlanner planner{fabric};
  const Script script = Script({"a", "b"})
                            .kernel(1, copy_of("small", 6))
                            .work(1)
                            .kernel(0, copy_of("large", 10))
                            .wait_stream(1);
  const Job job = job_of(fabric, {script}, {}, 2);
  const auto result = simulate(input_of(job, fabric, planner), options_for(EngineMode::Bare), nullptr);
  EXPECT_EQ(result.makespan() / Seconds{kTick}, 32);  // 6, 16, 22, 32
  EXPECT_THAT(result.critical_path, ElementsAre(is_piece("large", 10), is_piece("small", 6)));
}

/// Copies of two GPUs share the uplink for 20 ticks, so that it bounds them; one that runs at a quarter of
/// the links' rate is bound by none.
TEST(CriticalPath, NamesTheLinkThatBoundsACopy) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric};
  const Script script = Script({"a"}).kernel(0, copy_of("copy", 10));
  const Job job = job_of(fabric, {script, script});
  auto input = input_of(job, fabric, planner);
  const auto shared = simulate(input, options_for(EngineMode::Bare), nullptr);
  EXPECT_THAT(shared.critical_path, ElementsAre(is_share("copy", 20, 1, "cpu->pcie#1")));
  EXPECT_DOUBLE_EQ(shared.critical_path[0].over_pcie, 20 * kTick);
  EXPECT_EQ(shared.critical_path[0].part, PathPart::Copy);
  input.gpu_models.front().host_copy.pinned = kTickBandwidth / 4;
  const auto slow = simulate(input, options_for(EngineMode::Bare), nullptr);
  EXPECT_THAT(slow.critical_path, ElementsAre(is_share("copy", 40)));
  EXPECT_DOUBLE_EQ(slow.critical_path[0].over_pcie, 40 * kTick);
}

CriticalShare look_up_in_host_memory(std::int64_t rows) {
  const Fabric fabric = tick_machine(1);
  const CollectivePlanner planner{fabric};
  const EmbeddingTable table{.rows = std::int64_t{1} << 40,
                             .dimension = 256,
                             .pooling_factor = 1,
                             .reuse_factor = 1,
                             .location = TableLocation::Host};
  const Script script =
      Script({"a"}).kernel(0, {"lookup", DataType::FP32, EmbeddingBags{.batch = rows, .tables = {table}}});
  const Job job = job_of(fabric, {script});
  auto input = input_of(job, fabric, planner);
  input.gpu_models.front() = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_16gb.yaml");
  const auto path = simulate(input, options_for(EngineMode::Bare), nullptr).critical_path;
  const auto share = std::ranges::find(path, "lookup", &CriticalShare::what);
  return share == path.end() ? CriticalShare{} : *share;
}

/// A row takes a tick (0.95 us) on the links, the smallest lookup alone 3.1 us.
TEST(CriticalPath, NamesTheLinkThatBoundsALookUpInHostMemory) {
  const CriticalShare many = look_up_in_host_memory(10);
  EXPECT_THAT(many, is_share("lookup", 10, 1, "cpu->pcie#1"));
  EXPECT_EQ(many.part, PathPart::Kernel);
  EXPECT_DOUBLE_EQ(many.over_pcie, many.seconds);
  const CriticalShare one = look_up_in_host_memory(1);
  EXPECT_GT(one.seconds, 0);
  EXPECT_EQ(one.bottleneck, "");
  EXPECT_EQ(one.over_pcie, 0);
}

/// Rank 0: the all-reduce and the kernels follow each other. Rank 1's kernel ends at 17; it waits for rank 0
/// until 37.
TEST_F(TwoRanks, ActivityCountsEveryMomentOnce) {
  const auto result = run(30, 10);
  ASSERT_EQ(result.metered.size(), 2U);
  constexpr auto kAllReduce = static_cast<std::size_t>(CollectiveKind::AllReduce);
  const std::vector<double> compute{35, 15};
  const std::vector<double> waiting{0, 20};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Activity& activity = result.metered[rank].activity;
    EXPECT_EQ(result.metered[rank].rank, rank);
    EXPECT_DOUBLE_EQ(activity.compute / kTick, compute[rank]);
    EXPECT_DOUBLE_EQ(activity.exposed_waiting[kAllReduce] / kTick, waiting[rank]);
    EXPECT_DOUBLE_EQ(activity.exposed_transfer[kAllReduce] / kTick, 16);
    EXPECT_DOUBLE_EQ(activity.busy() / kTick, compute[rank] + waiting[rank] + 16);
  }
}

constexpr auto kReduce = static_cast<std::size_t>(CollectiveKind::AllReduce);
constexpr auto kGather = static_cast<std::size_t>(CollectiveKind::AllGather);

/// Stream 0 computes in [0, 10] and copies in [12, 25]; stream 1 is in an all-reduce from 5, whose transfer
/// lasts from 8 to 20. Exposed: nothing of the waiting, [10, 20] of the transfer, [20, 25] of the copy.
TEST(ActivityMeter, FirstOfItsRulesDecides) {
  for (const std::vector<double>& sweeps :
       {std::vector<double>{}, {7}, {7, 8, 9}, {12.5, 24}, {1, 2, 5, 11, 12, 13, 21}}) {
    ActivityMeter meter{2};
    meter.compute(0, 0, 10);
    meter.copy(0, 12, 25);
    meter.collective(1, CollectiveKind::AllReduce, 5, 8, 20);
    for (const double date : sweeps) {
      meter.sweep(date);
    }
    meter.sweep(100);
    EXPECT_DOUBLE_EQ(meter.total().compute, 10);
    EXPECT_DOUBLE_EQ(meter.total().exposed_waiting[kReduce], 0);
    EXPECT_DOUBLE_EQ(meter.total().exposed_transfer[kReduce], 10);
    EXPECT_DOUBLE_EQ(meter.total().copy, 5);
    EXPECT_DOUBLE_EQ(meter.total().busy(), 25);
  }
}

/// A transfer is exposed before waiting is: [0, 4] and [6, 9] wait for the all-reduce, [4, 6] move the
/// all-gather.
TEST(ActivityMeter, TransferHidesWaiting) {
  ActivityMeter meter{2};
  meter.collective(0, CollectiveKind::AllReduce, 0, 9, 10);
  meter.collective(1, CollectiveKind::AllGather, 4, 4, 6);
  meter.sweep(100);
  EXPECT_DOUBLE_EQ(meter.total().exposed_waiting[kReduce], 4 + 3);
  EXPECT_DOUBLE_EQ(meter.total().exposed_transfer[kGather], 2);
  EXPECT_DOUBLE_EQ(meter.total().exposed_transfer[kReduce], 1);
}

/// Against counting unit by unit: three streams of back-to-back and spaced random work.
TEST(ActivityMeter, AgreesWithCountingEveryUnit) {
  constexpr int kEnd = 3000;
  const Random random{5, "intervals"};
  std::uint64_t draw = 0;
  const auto below = [&](int bound) { return static_cast<int>(random.uniform(draw++) * bound); };
  ActivityMeter meter{3};
  std::array<std::array<int, kEnd>, 3> what{};  // 0: idle, 1: compute, 2: transfer, 3: waiting, 4: copy
  const auto fill = [&](std::size_t stream, int from, int to, int kind) {
    std::fill(what[stream].begin() + from, what[stream].begin() + to, kind);
  };
  std::array<int, 3> clock{};
  for (int i = 0; i < 600; ++i) {
    const auto lane = static_cast<std::size_t>(std::min_element(clock.begin(), clock.end()) - clock.begin());
    meter.sweep(clock[lane]);  // nothing earlier can come: the least of the clocks
    const auto stream = static_cast<std::uint8_t>(lane);
    const int start = clock[lane] + below(4);
    const int end = std::min(kEnd, start + 1 + below(9));
    if (start >= end) {
      break;
    }
    const int kind = below(3);
    if (kind == 0) {
      meter.compute(stream, start, end);
      fill(lane, start, end, 1);
    } else if (kind == 1) {
      meter.copy(stream, start, end);
      fill(lane, start, end, 4);
    } else {
      const int met = start + below(end - start + 1);
      meter.collective(stream, CollectiveKind::AllReduce, start, met, end);
      fill(lane, start, met, 3);
      fill(lane, met, end, 2);
    }
    clock[lane] = end;
  }
  meter.sweep(kEnd);
  std::array<double, 5> expected{};
  for (std::size_t unit = 0; unit < kEnd; ++unit) {
    int best = 0;
    for (const auto& stream : what) {
      best = stream[unit] != 0 && (best == 0 || stream[unit] < best) ? stream[unit] : best;
    }
    expected[static_cast<std::size_t>(best)] += 1;
  }
  const Activity& total = meter.total();
  EXPECT_DOUBLE_EQ(total.compute, expected[1]);
  EXPECT_DOUBLE_EQ(total.exposed_transfer[kReduce], expected[2]);
  EXPECT_DOUBLE_EQ(total.exposed_waiting[kReduce], expected[3]);
  EXPECT_DOUBLE_EQ(total.copy, expected[4]);
  EXPECT_DOUBLE_EQ(total.busy(), kEnd - expected[0]);
}

}  // namespace
}  // namespace lockstep::testing
