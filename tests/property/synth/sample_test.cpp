/// @file
/// Samples of random jobs: what is not changed comes back to the last bit, whatever is drawn can run.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ops/collectives/collective_planner.hpp"
#include "sim/compiled_program.hpp"
#include "sim/simulation.hpp"
#include "synth/aggregate.hpp"
#include "synth/fit.hpp"
#include "synth/model_file.hpp"
#include "synth/sample.hpp"
#include "tests/support/layered_job.hpp"
#include "tests/support/random_job.hpp"
#include "tests/support/same_result.hpp"

namespace lockstep::testing {
namespace {

SimulationResult result_of(const Job& job, const Fabric& fabric, const CollectivePlanner& planner,
                           const GpuSpec& gpu = tick_gpu()) {
  SimulationInput input = input_of(job, fabric, planner);
  input.gpu_models = {gpu};
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  return simulate(input, options, nullptr);
}

/// The job, on as many GPUs.
Job placed(Job job, const Fabric& fabric) {
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) job.ranks[rank].gpu = fabric.gpus()[rank];
  return job;
}

// The step of an exact model's sample is that of its source, and so is every start and end.
RC_GTEST_PROP(SampleProperty, AnExactModelGivesItsJobBack, ()) {
  const RandomJob random = *random_job();
  const Fabric fabric = tick_machine(random.ranks);
  synth::Recording recording;
  recording.job = made(random, {fabric.gpus().begin(), fabric.gpus().end()});
  recording.gpu = tick_gpu();
  synth::FitOptions exact;
  exact.exact = true;
  const synth::Model model = synth::fit(std::vector{recording}, exact);
  const synth::Sample sample = synth::sample(model, tick_gpu(), {});
  const CollectivePlanner planner{fabric, rings()};
  SimulationResult before = result_of(recording.job, fabric, planner);
  SimulationResult after = result_of(placed(sample.job, fabric), fabric, planner);
  RC_ASSERT(before.step_ends == after.step_ends);
  RC_ASSERT(before.fingerprint == after.fingerprint);
}

/// Seconds of all kernels of a rank.
double kernel_seconds_of(const Job& job, std::uint32_t rank) {
  const Program& program = *job.programs[job.ranks[rank].program];
  const std::vector<KernelTiming> times = time_kernels(program, tick_gpu());
  double sum = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) sum += times[i.operand].seconds;
    }
  }
  return sum;
}

// Whatever waits for what: larger pieces can run, and kernels take at least as long as they did. Lags between
// them become part of a piece.
RC_GTEST_PROP(AggregateProperty, LargerPiecesCanRun, ()) {
  const RandomJob random = *random_job();
  const Fabric fabric = tick_machine(random.ranks);
  const Job before = made(random, {fabric.gpus().begin(), fabric.gpus().end()});
  Job after = before;
  synth::AggregateOptions options;
  options.collectives = static_cast<std::uint32_t>(*rc::gen::inRange(1, 9));
  const synth::AggregateReport report = synth::aggregate(after, tick_gpu(), options);
  check(after);
  RC_ASSERT(report.left_launches <= report.launches);
  const CollectivePlanner planner{fabric, rings()};
  static_cast<void>(result_of(after, fabric, planner));
  for (std::uint32_t rank = 0; rank < before.ranks.size(); ++rank) {
    RC_ASSERT(kernel_seconds_of(after, rank) >= kernel_seconds_of(before, rank) * (1 - 1e-9));
  }
}

/// Layers, sizes and noise at will.
synth::SampleOptions random_knobs(std::uint64_t seed) {
  const Random random{seed, "knobs"};
  const auto between = [&](std::uint64_t place, double least, double most) {
    return std::floor(least + random.uniform(place) * (most - least));
  };
  synth::SampleOptions options;
  options.seed = seed;
  options.symbols = {{"layers", between(0, 3, 40)},
                     {"hidden", between(1, 1, 4000)},
                     {"batch", between(2, 1, 5000)},
                     {"ranks", 4 * between(3, 1, 5)}};
  return options;
}

/// Times of the recorded job vary, so that what is repeated has a spread.
synth::Model model_with_spread() {
  synth::Recording recording;
  LayeredSizes sizes;
  sizes.type = DataType::FP32;
  recording.job = layered_job(sizes);
  recording.gpu = shipped_a100();
  recording.labels = {{"batch", static_cast<double>(sizes.tokens)}};
  synth::Model model = synth::fit(std::vector{recording}, {});
  for (synth::KernelEntry& kernel : model.jobs.front().templates.front().kernels) {
    kernel.spread = 0.2;
    kernel.support = 10;
  }
  return model;
}

// 1,000 of 1,000 samples pass every check and run to their end.
TEST(SampleProperty, EverySampleCanRun) {
  constexpr int kMostRanks = 16;
  const synth::Model model = model_with_spread();
  const Fabric fabric = tick_machine(kMostRanks);
  const CollectivePlanner planner{fabric, rings()};
  constexpr std::uint64_t kSamples = 1000;
  constexpr std::uint64_t kSimulated = 10;  // every tenth, to save time: all are checked
  for (std::uint64_t seed = 1; seed <= kSamples; ++seed) {
    const synth::Sample sample = synth::sample(model, shipped_a100(), random_knobs(seed));
    ASSERT_EQ(sample.repairs, 0U) << seed;
    const Job job = placed(sample.job, fabric);
    ASSERT_NO_THROW(check(job)) << seed;
    if (seed % kSimulated == 0) {
      ASSERT_GT(result_of(job, fabric, planner, shipped_a100()).makespan(), Seconds{0}) << seed;
    }
  }
}

TEST(SampleProperty, TheSameSeedGivesTheSame) {
  const synth::Model model = model_with_spread();
  synth::SampleOptions options;
  const Job a = synth::sample(model, shipped_a100(), options).job;
  const Job b = synth::sample(model, shipped_a100(), options).job;
  options.seed = 2;
  const Job c = synth::sample(model, shipped_a100(), options).job;
  EXPECT_EQ(a.programs.front()->kernels, b.programs.front()->kernels);
  EXPECT_NE(a.programs.front()->kernels, c.programs.front()->kernels);
}

}  // namespace
}  // namespace lockstep::testing
