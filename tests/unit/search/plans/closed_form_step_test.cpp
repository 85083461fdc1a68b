#include "search/plans/closed_form_step.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// A layer of 12 h^2 = 48 parameters (h = 2); 4 layers, 8 samples of 3 tokens, two GPUs to a node.
PlanProblem tiny() {
  PlanProblem problem;
  problem.model.layers = 4;
  problem.model.hidden = 2;
  problem.model.heads = 1;
  problem.model.sequence = 3;
  problem.global_batch = 8;
  problem.gpus_of_node = 2;
  return problem;
}

constexpr MachineRates kRates{FlopsPerSecond{6}, BytesPerSecond{8}, BytesPerSecond{1}};

PlanCandidate plan(int tensor, int data, int pipeline, int micro_batches) {
  PlanCandidate candidate;
  candidate.plan.tensor = tensor;
  candidate.plan.pipeline = pipeline;
  candidate.data = data;
  candidate.gpus = tensor * data * pipeline;
  candidate.micro_batches = micro_batches;
  return candidate;
}

/// One GPU: 6 x 8 micro-batches x 3 tokens x 48 parameters x 4 layers at 6 FLOP/s.
TEST(ClosedFormStep, OfOneGpuIsItsProducts) {
  EXPECT_DOUBLE_EQ(closed_form_step_time(plan(1, 1, 1, 8), tiny(), kRates).in_base_units(), 8.0 * 3 * 48 * 4);
}

/// Two stages have half each, and a bubble of 1 / 8.
TEST(ClosedFormStep, OfAPipelineHasItsBubble) {
  EXPECT_DOUBLE_EQ(closed_form_step_time(plan(1, 1, 2, 8), tiny(), kRates).in_base_units(),
                   8.0 * 3 * 48 * 2 * (1 + 1.0 / 8));
}

/// Tensor 2: half of the products; 4 all-reduces of 2 x 3 x 2 bytes, 2 x 1/2 each, for 8 x 4 layers at 8 B/s.
TEST(ClosedFormStep, OfTensorParallelismHasItsSums) {
  EXPECT_DOUBLE_EQ(closed_form_step_time(plan(2, 1, 1, 8), tiny(), kRates).in_base_units(),
                   8.0 * 3 * 48 * 4 / 2 + 32.0 * 4 * 12 / 8);
}

/// Gradients are hidden by two thirds of the products, unless they leave the node and are slow.
TEST(ClosedFormStep, HidesGradientsUnderBackward) {
  EXPECT_DOUBLE_EQ(closed_form_step_time(plan(1, 2, 1, 4), tiny(), kRates).in_base_units(), 4.0 * 3 * 48 * 4);
  PlanProblem problem = tiny();
  problem.gpus_of_node = 1;
  const double products = 3 * 48 * 4, gradients = 4 * 0.5 * 4 * 48;
  EXPECT_DOUBLE_EQ(closed_form_step_time(plan(1, 2, 1, 1), problem,
                                         {FlopsPerSecond{6}, BytesPerSecond{8}, BytesPerSecond{0.5}})
                       .in_base_units(),
                   products + gradients / 0.5 - products * 2 / 3);
}

}  // namespace
}  // namespace lockstep
