/// @file
/// Optimizers on the host (ZeRO-Offload) against what Ren et al., arXiv 2101.06840, count: 2 bytes a
/// parameter and way, states of 12 + 2 bytes on the host, time of the CPU's memory traffic.

#include <gmock/gmock.h>

#include "ops/workload/parallel/host_optimizer.hpp"
#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

using ::testing::DoubleNear;

constexpr double kTable = 51200.0 * 12288;
/// Parameters of gpt3(): 4 layers of 12 h^2 + 13 h, the tied table, positions, the last norm's gain.
constexpr double kParameters = 4 * (12 * 12288.0 * 12288 + 13 * 12288.0) + kTable + 2048 * 12288.0 + 12288.0;

TransformerPlanSpec offloaded(Sharding sharding, Offload offload = Offload::Optimizer) {
  TransformerPlanSpec plan;
  plan.sharding = sharding;
  plan.offload = offload;
  plan.fp32_gradients = false;
  return plan;
}

/// Bytes of what rank 0 copies that way, but for tokens and scalars.
double copied(const Job& job, Memcpy::Path path) {
  constexpr Bytes kSmall{1e6};
  double sum = 0;
  const Program& program = *job.programs.front();
  for (const Instruction& instruction : program.threads.front().instructions) {
    if (instruction.op != Opcode::Launch || instruction.per_rank) {
      continue;
    }
    const auto* copy = std::get_if<Memcpy>(&program.kernels[instruction.operand].work);
    if (copy != nullptr && copy->path == path && copy->size > kSmall) {
      sum += copy->size.in_base_units();
    }
  }
  return sum;
}

double to_host(const Job& job) {
  return copied(job, Memcpy::Path::DeviceToHost);
}
double to_gpu(const Job& job) {
  return copied(job, Memcpy::Path::HostToDevice);
}

::testing::Matcher<double> about(double expected) {
  return DoubleNear(expected, 1e-4 * expected);
}

TEST(HostOptimizer, MovesTwoBytesAParameterEachWay) {
  for (const Sharding sharding : {Sharding::Zero1, Sharding::Zero2, Sharding::Zero3}) {
    for (const int ranks : {1, 4}) {
      const Job job = job_of(gpt3(), offloaded(sharding), {.ranks = ranks, .batch = ranks});
      EXPECT_THAT(to_host(job), about(2 * kParameters / ranks));
      EXPECT_THAT(to_gpu(job), about(2 * kParameters / ranks));
    }
  }
}

/// Gradients of zero1 are summed on the GPU. zero2 and zero3 have no room for them there: from the second
/// micro-batch on what is on the host is fetched, added to, and brought back.
TEST(HostOptimizer, SumsMicroBatchesWhereThereIsRoom) {
  const Batch three{.ranks = 4, .batch = 12, .micro_batches = 3};
  const double share = 2 * kParameters / 4;
  const Job zero1 = job_of(gpt3(), offloaded(Sharding::Zero1), three);
  EXPECT_THAT(to_host(zero1), about(share));
  EXPECT_THAT(to_gpu(zero1), about(share));
  const Job zero2 = job_of(gpt3(), offloaded(Sharding::Zero2), three);
  EXPECT_THAT(to_host(zero2), about(3 * share));
  EXPECT_THAT(to_gpu(zero2), about((2 + 1) * share));
}

/// Read: gradient 2 B, master weight and moments 12 B; written: these and the new parameter, 2 B. At 0.41 of
/// the bandwidth. Clipping reads and writes the gradients once more.
TEST(HostOptimizer, TakesTheTimeOfItsMemoryTraffic) {
  const double second = 0.41 * kHostBandwidth.in_base_units();
  const Job job = job_of(gpt3(), offloaded(Sharding::Zero2), {.ranks = 4, .batch = 4});
  EXPECT_THAT(host_seconds(job, "cpu_adam"), about(kParameters / 4 * 28 / second));
  EXPECT_EQ(host_seconds(job, "unscale_and_clip_grads"), 0);
  const Job clipped = job_of(gpt3(), offloaded(Sharding::Zero2), {.ranks = 4, .batch = 4, .clip = true});
  EXPECT_THAT(host_seconds(clipped, "unscale_and_clip_grads"), about(kParameters / 4 * 4 / second));
  TransformerPlanSpec wide = offloaded(Sharding::Zero2);
  wide.fp32_gradients = true;
  EXPECT_THAT(host_seconds(job_of(gpt3(), wide, {.ranks = 4, .batch = 4}), "cpu_adam"),
              about(kParameters / 4 * 30 / second));
}

/// Threads too few for the memory's bandwidth take longer than that.
TEST(HostOptimizer, IsAsFastAsItsThreads) {
  const auto seconds = [](int threads) {
    TransformerPlanSpec plan = offloaded(Sharding::Zero2);
    plan.offload_threads = threads;
    return host_seconds(job_of(gpt3(), plan, {.ranks = 4, .batch = 4}), "cpu_adam");
  };
  EXPECT_THAT(seconds(1), about(kParameters / 4 / 40e6));
  EXPECT_THAT(seconds(2), about(kParameters / 4 / 80e6));
  EXPECT_THAT(seconds(1000), about(kParameters / 4 * 28 / (0.41 * kHostBandwidth.in_base_units())));
}

/// Table 4 of the paper: CPU-Adam on a DGX-2, whose two sockets have 128 GB/s each, one process.
TEST(HostOptimizer, IsAsFastAsMeasured) {
  const std::vector<std::pair<double, double>> measured{
      {1e9, 0.22}, {2e9, 0.51}, {4e9, 1.03}, {8e9, 2.41}, {10e9, 2.57}};
  for (const auto& [parameters, seconds] : measured) {
    const double predicted = parameters * 28 / (HostOptimizer::kUpdateEfficiency * 256e9);
    EXPECT_NEAR(predicted / seconds, 1, 0.22) << parameters;
  }
}

/// The paper's 2 B a parameter on the GPU, 14 B on the hosts together.
TEST(HostOptimizer, LeavesParametersAloneOnTheGpu) {
  const Job job = job_of(gpt3(), offloaded(Sharding::Zero2), {.ranks = 4, .batch = 4});
  const MemoryBreakdown &gpu = job.memory.front(), &host = job.host_memory.front();
  EXPECT_THAT(gpu[MemoryUse::Parameters], about(2 * kParameters));
  EXPECT_EQ(gpu[MemoryUse::Optimizer], 0);
  EXPECT_LT(gpu[MemoryUse::Gradients], 0.5 * 2 * kParameters);  // what fills and what leaves
  EXPECT_THAT(host[MemoryUse::Optimizer], about(12 * kParameters / 4));
  EXPECT_THAT(host[MemoryUse::Gradients], about(2 * kParameters / 4));
  EXPECT_EQ(host[MemoryUse::Parameters], 0);
}

/// Each layer is fetched for forward and for backward, the table once (it stays in between); each rank
/// fetches its share and gathers the others'. Nothing comes back at the end of the step.
TEST(HostOptimizer, FetchesParametersLayerByLayer) {
  const auto plan = offloaded(Sharding::Zero3, Offload::Parameters);
  const double layers = kParameters - kTable;
  for (const int ranks : {1, 4}) {
    const Job job = job_of(gpt3(), plan, {.ranks = ranks, .batch = ranks});
    EXPECT_NEAR(to_gpu(job), 2 * (2 * layers + kTable) / ranks, 0.02 * to_gpu(job));
    EXPECT_THAT(to_host(job), about(2 * kParameters / ranks));
    EXPECT_THAT(job.host_memory.front()[MemoryUse::Parameters], about(2 * kParameters / ranks));
    EXPECT_LT(job.memory.front()[MemoryUse::Parameters], 0.9 * 2 * kParameters);  // the table and two layers
  }
}

/// The first and the last stage sum the gradients of their tied tables before these leave.
TEST(HostOptimizer, SendsTiedGradientsWhenTheyAreSummed) {
  TransformerPlanSpec plan = offloaded(Sharding::Zero1);
  plan.pipeline = 2;
  const Job job = job_of(gpt3(), plan, {.ranks = 4, .batch = 4, .micro_batches = 2});
  const Program& program = *job.programs.front();
  bool is_summed = false;
  for (const Instruction& instruction : program.threads.front().instructions) {
    if (instruction.op == Opcode::Collective) {
      const CollectiveCall& call = program.collectives[instruction.operand];
      is_summed = is_summed || (call.kind == CollectiveKind::AllReduce && call.size > Bytes{1e6});
    } else if (instruction.op == Opcode::Launch) {
      const auto* copy = std::get_if<Memcpy>(&program.kernels[instruction.operand].work);
      const bool leaves = copy != nullptr && copy->path == Memcpy::Path::DeviceToHost;
      EXPECT_TRUE(!leaves || copy->size < Bytes{1e6} || is_summed);
    }
  }
  EXPECT_TRUE(is_summed);
  EXPECT_THAT(to_host(job), about(to_gpu(job)));
}

TEST(HostOptimizer, NeedsAHostWithABandwidth) {
  TrainingSetup setup;
  const std::vector<VertexId> gpus{0};
  setup.global_batch = 1;
  setup.precision = Precision::BF16;
  setup.host = plain_host();
  setup.parallelism.transformer = offloaded(Sharding::Zero2);
  setup.gpus = gpus;
  EXPECT_THAT([&] { (void)parallel_transformer_job(gpt3(), setup); },
              ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr("memory_bandwidth")));
}

}  // namespace
}  // namespace lockstep
