#include "ops/workload/step_writer.hpp"

#include <gmock/gmock.h>

#include <array>

namespace lockstep {
namespace {

using namespace lockstep::literals;

std::vector<double> awaits_us(const Program::Thread& thread) {
  std::vector<double> costs;
  for (const Instruction& instruction : thread.instructions) {
    if (instruction.op == Opcode::Await) {
      costs.push_back(Seconds{instruction.cost} / 1_us);
    }
  }
  return costs;
}

TEST(StepWriter, TheThreadOfBackwardStartsLateAndSoDoesItsCallerAfterwards) {
  HostOverheads host;
  host.runtime_calls = {{RuntimeCall::LaunchKernel, 4_us}};
  host.backward_start = 150_us;
  host.backward_return = 76_us;
  StepWriter step{host, 1, FrameworkSpec{}, Precision::FP32};
  step.on_autograd_thread([&] { step.op("ReluBackward0"); });
  const Job job = std::move(step).finish(std::array{VertexId{0}});
  const auto& threads = job.programs[0]->threads;
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_THAT(awaits_us(threads[1]), ::testing::ElementsAre(::testing::DoubleNear(150, 1e-3)));
  EXPECT_THAT(awaits_us(threads[0]), ::testing::ElementsAre(::testing::DoubleNear(76, 1e-3)));
}

}  // namespace
}  // namespace lockstep
