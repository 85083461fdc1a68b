#include "ops/workload/allocator_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

Job step_of(std::int64_t layers, EmptyCache empties, Phases phases, const HostOverheads& host) {
  TransformerSpec spec = shipped("gpt2").transformer.value();
  spec.layers = layers;
  const std::vector<VertexId> gpus{0};
  const std::vector<Bytes> memory{80_GB};
  FrameworkSpec framework;
  framework.empty_cache = empties;
  return transformer_job(spec, {.global_batch = 4,
                                .framework = framework,
                                .parallelism = {},
                                .host = host,
                                .optimizer = {},
                                .phases = phases,
                                .gpus = gpus,
                                .gpu_memory = memory});
}

Job job_with(EmptyCache empties, Phases phases = Phases::ForwardBackward, std::int64_t layers = 4) {
  HostOverheads host = plain_host();
  host.runtime_calls[RuntimeCall::Malloc] = 500_us;
  host.runtime_calls[RuntimeCall::Free] = 1500_us;
  return step_of(layers, empties, phases, host);
}

std::ptrdiff_t calls(const Job& job, std::string_view name) {
  const Program& program = *job.programs[0];
  std::ptrdiff_t found = 0;
  for (const Program::Thread& thread : program.threads) {
    found += std::ranges::count_if(thread.instructions, [&](const Instruction& instruction) {
      return instruction.op == Opcode::HostWork && program.names[instruction.operand] == name;
    });
  }
  return found;
}

TEST(AllocatorCalls, AStepFindsAllInTheCache) {
  EXPECT_EQ(calls(job_with(EmptyCache::Never), kMallocCall), 0);
}

// A block in FP32 wants 14, for 4 samples of 1,024 tokens, 768 wide (12 MiB): 2 norms, 2 inputs of GEMMs,
// context, queries with keys and values (36 MiB). Also softmax's result and what dropout leaves of it (192
// MiB each), its mask, the last GEMM's input and four tensors of GELU (48 MiB each). Two masks of 3 MiB want
// a segment of 20 MiB; the next tensor of 12 MiB takes its rest.
TEST(AllocatorCalls, AnEmptiedCacheWantsACallForEveryLargeTensor) {
  const auto of_layers = [](std::int64_t layers) {
    return calls(job_with(EmptyCache::BetweenSteps, Phases::ForwardBackward, layers), kMallocCall);
  };
  EXPECT_EQ(of_layers(13) - of_layers(10), 3 * 14);
}

TEST(AllocatorCalls, AnEvaluationUsesTheTensorsOfTheFirstLayerAgain) {
  const auto of_layers = [](std::int64_t layers) {
    return calls(job_with(EmptyCache::BetweenSteps, Phases::Forward, layers), kMallocCall);
  };
  EXPECT_EQ(of_layers(8), of_layers(2));
}

TEST(AllocatorCalls, EachStepFreesEverySegmentWithinTheStep) {
  const Job job = job_with(EmptyCache::EachStep);
  EXPECT_EQ(calls(job, kFreeCall), calls(job, kMallocCall));
  EXPECT_EQ(calls(job_with(EmptyCache::BetweenSteps), kFreeCall), 0);
}

TEST(AllocatorCalls, NeedsAHostThatTellsWhatTheyTake) {
  try {
    (void)step_of(1, EmptyCache::EachStep, Phases::Step, plain_host());
    FAIL() << "no error";
  } catch (const std::invalid_argument& problem) {
    EXPECT_NE(std::string{problem.what()}.find("runtime_calls.malloc"), std::string::npos) << problem.what();
  }
}

}  // namespace
}  // namespace lockstep
