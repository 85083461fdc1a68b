#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ops/collectives/collective_planner.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/naive_executor.hpp"
#include "tests/support/rail_fabric.hpp"
#include "tests/support/script.hpp"
#include "tests/support/timeline_checks.hpp"

namespace lockstep::testing {

void PrintTo(const Agreement& agreement, std::ostream* out) {
  *out << fmt::format("makespan {:a} s, fingerprint {:016x}, {} launches", agreement.makespan,
                      agreement.fingerprint, agreement.launches);
}

namespace {

Agreement naively_in_child(const SimulationInput& input) {
  return in_child([&] {
    const NaiveResult result = simulate_naively(input);
    return Agreement{result.makespan, result.fingerprint, result.launches};
  });
}

/// 8 nodes of 8 GPUs and 2 NICs: the four rail rings of a NIC contend for it, each from a date of its own
/// under 10 % jitter, so that rates change in the middle of transfers.
class ContendedJob : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 64;
  Fabric fabric_ = rail_fabric(kRanks / 8, 2);
  Job job_ = contended_job(fabric_, kRanks, 2);
  CollectivePlanner planner_{fabric_};

  SimulationInput input(double variation) {
    auto input = input_for(job_, fabric_, [this](const CollectiveRequest& r, std::span<const VertexId> m) {
      return planner_.plan(r, m);
    });
    input.variation = jitter(variation);
    input.gpu_models.front().launch_to_start = Seconds{2e-6};
    input.gpu_models.front().kernel_gap = Seconds{1e-6};
    return input;
  }
};

TEST_F(ContendedJob, NaiveExecutorAndAllEnginesGiveTheSameBits) {
  const auto input = this->input(0.1);
  const Agreement naive = naively_in_child(input);
  EXPECT_GT(naive.makespan, 0);
  EXPECT_EQ(naive.launches, 2U * 64U * 921U);  // 19 blocks of 46, the first of 47
  for (const auto& [name, options] : every_engine()) {
    EXPECT_EQ(simulated_in_child(input, options), naive) << name;
  }
}

TEST_F(ContendedJob, ContentionIsRealInThisJob) {
  const auto input = this->input(0.1);
  const auto shared = simulate(input, options_for(EngineMode::Bare), nullptr);
  const auto alone = simulate(input, options_for(EngineMode::Bare, false, NetworkMode::Alone), nullptr);
  EXPECT_LT(alone.makespan(), shared.makespan());
  EXPECT_NE(alone.fingerprint, shared.fingerprint);
}

TEST_F(ContendedJob, ShortLaunchQueueAgreesToo) {
  auto input = this->input(0.1);
  input.gpu_models.front().launch_queue = 3;  // the host waits at nearly every launch
  const Agreement naive = naively_in_child(input);
  for (const auto& [name, options] : every_engine()) {
    EXPECT_EQ(simulated_in_child(input, options), naive) << name;
  }
}

/// Communication slows kernels down beside it: real actors hear of it when the others do.
TEST_F(ContendedJob, InterferenceIsTheSameOnAllEngines) {
  auto input = this->input(0.1);
  input.gpu_models.front().sm_count = 100;
  input.gpu_models.front().communication = {20, 0.2};
  const Agreement without = simulated_in_child(input, options_for(EngineMode::Bare));
  SimulationOptions options;
  options.interference = true;
  const Agreement bare = simulated_in_child(input, {.engine = EngineMode::Bare, .interference = true});
  EXPECT_GT(bare.makespan, without.makespan);
  for (const auto& [name, of_engine] : every_engine(options)) {
    EXPECT_EQ(simulated_in_child(input, of_engine), bare) << name;
  }
}

TEST_F(ContendedJob, JitterFollowsFromItsSeedAlone) {
  const auto once = simulate(input(0.1), options_for(EngineMode::Bare), nullptr);
  const auto again = simulate(input(0.1), options_for(EngineMode::Bare), nullptr);
  EXPECT_EQ(agreement_of(once), agreement_of(again));
  auto other = input(0.1);
  const JitterSpec spec{Distribution::Lognormal, 0.1};
  other.variation = {Jitter{spec}, Jitter{spec}, Random{2, "variation"}};
  EXPECT_NE(simulate(other, options_for(EngineMode::Bare), nullptr).fingerprint, once.fingerprint);
}

TEST_F(ContendedJob, FlowsRunOnBothOfSimgridsEngines) {
  const auto input = this->input(0.1);
  const auto flows = options_for(EngineMode::RunAhead, false, NetworkMode::Flows);
  const auto as_actors = options_for(EngineMode::S4u, false, NetworkMode::Flows);
  EXPECT_EQ(simulated_in_child(input, as_actors), simulated_in_child(input, flows));
}

/// A thousand spans a stream, so that activity is metered piece by piece while streams run ahead.
TEST_F(ContendedJob, TimelineAndMetricsAddUpOnEveryEngine) {
  const auto input = this->input(0.1);
  for (const auto& [name, options] : every_engine()) {
    const std::string complaint = in_child([&, chosen = options] {
      Recording recording;
      const auto result = simulate(input, chosen, &recording);
      return recording.spans().size() < 100'000 ? "too few spans"
                                                : complaint_about(recording.spans(), result);
    });
    EXPECT_EQ(complaint, "") << name;
  }
}

/// Rank 0's host gets far ahead of its compute stream, which waits for the first collective; rank 1 comes to
/// that only after the second, which rank 0 launches behind everything else. A limit to how far hosts run
/// ahead must not hold it up.
TEST(Engines, RunAsFarAheadAsTheJobNeeds) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric, rings()};
  Script ahead({"compute", "first", "second"}, {"world", "other"});
  ahead.all_reduce(1, 0, worth(20), 1).record(1, 0).stream_wait(0, 0);
  for (int i = 0; i < 1000; ++i) {
    ahead.launch(0, 3, 1);
  }
  ahead.collective(2, {CollectiveKind::AllReduce, DataType::FP32, 1, worth(10), {}, 0});
  Script behind({"compute", "first", "second"}, {"world", "other"});
  behind.collective(2, {CollectiveKind::AllReduce, DataType::FP32, 1, worth(10), {}, 0}).wait_stream(2);
  behind.all_reduce(1, 0, worth(20), 1);
  const Job job = job_of(fabric, {ahead, behind}, {{"world", {0, 1}}, {"other", {0, 1}}});
  const auto input = input_of(job, fabric, planner);
  const Agreement naive = naively_in_child(input);
  // rank 0's host: 1 + 1000; the second collective 10, the first 20, then the kernels
  EXPECT_DOUBLE_EQ(naive.makespan / kTick, 1001 + 10 + 1 + 20 + 3000);
  auto all = every_engine();
  all.push_back({"flows", options_for(EngineMode::RunAhead, false, NetworkMode::Flows)});
  all.push_back({"flows, s4u", options_for(EngineMode::S4u, false, NetworkMode::Flows)});
  for (const auto& [name, options] : all) {
    const Agreement agreement = simulated_in_child(input, options);
    EXPECT_NEAR(agreement.makespan, naive.makespan, 1e-9) << name;
    if (options.network == NetworkMode::Shared) {
      EXPECT_EQ(agreement, naive) << name;
    }
  }
}

/// Several threads that hand work to each other, waits of every kind, several steps.
TEST(Engines, AgreeOnEveryInstruction) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric, rings()};
  std::vector<Script> scripts;
  for (const double skew : {1.0, 5.0}) {
    Script script({"compute", "communication"}, {"world"});
    script.work(skew).launch(0, 7, 1).record(0, 0, 1).stream_wait(1, 0).all_reduce(1, 0, worth(20), 1);
    script.record(1, 1).wait_event(0, 2).post(0, 1).await(1, 1).stream_wait(0, 1).launch(0, 3, 1);
    script.wait_stream(1, 1).after(2).launch(0, 2, 1).wait_device(1);
    script.on("backward").await(0, 1).launch(0, 4, 2).after(1).record(0, 0).work(3).post(1);
    scripts.push_back(script);
  }
  const Job job = job_of(fabric, scripts, {{"world", {0, 1}}}, 3);
  check(job);
  auto input = input_of(job, fabric, planner);
  input.variation = jitter(0.2);
  input.host_factor = {1.5, 1.0};
  input.gpu_factor = {1.0, 1.25};
  const Agreement naive = naively_in_child(input);
  EXPECT_EQ(naive.launches, 2U * 3U * 5U);
  for (const auto& [name, options] : every_engine()) {
    EXPECT_EQ(simulated_in_child(input, options), naive) << name;
  }
}

TEST(Engines, SimgridSimulatesOnceAProcess) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric};
  const Job job = job_of(fabric, {Script({"compute"}).launch(0, 1), Script({"compute"}).launch(0, 1)});
  const auto twice = watch_child([&] {
    const auto input = input_of(job, fabric, planner);
    (void)simulate(input, options_for(EngineMode::RunAhead), nullptr);
    (void)simulate(input, options_for(EngineMode::RunAhead), nullptr);
    return std::string{"twice"};
  });
  EXPECT_EQ(twice.error, "one machine per process: SimGrid does not forget its platform");
  const auto input = input_of(job, fabric, planner);
  EXPECT_THROW((void)simulate(input, options_for(EngineMode::Bare, false, NetworkMode::Flows), nullptr),
               std::invalid_argument);
}

TEST(InChild, TellsWhatHappened) {
  EXPECT_EQ(in_child([] { return std::string{"fine"}; }), "fine");
  EXPECT_EQ(in_child([] { return std::vector<double>{1, 2}; }), (std::vector<double>{1, 2}));
  const auto failed = watch_child([]() -> std::string { throw std::runtime_error("no"); });
  EXPECT_EQ(failed.error, "no");
  EXPECT_EQ(failed.exit_code, 0);
  const auto killed = watch_child(
      []() -> std::string {
        for (;;) {
          ::pause();
        }
      },
      std::chrono::seconds{1});
  EXPECT_TRUE(killed.timed_out);
  const auto loud = watch_child([] {
    std::fputs("noise", stderr);
    return std::string{};
  });
  EXPECT_EQ(loud.printed, "noise");
}

}  // namespace
}  // namespace lockstep::testing
