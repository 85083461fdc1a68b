#include "search/plans/least_gpus.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

/// States of 8 layers are spread over stages, tensor-parallel ranks and replicas, as many as GPUs: a quarter
/// on each of 4, an eighth on 8, of two nodes.
TEST(LeastGpus, IsInWholeNodes) {
  PlanProblem problem;
  problem.model.layers = 8;
  problem.model.hidden = 1024;
  problem.model.heads = 8;
  problem.model.vocabulary = 1024;
  problem.model.positions = problem.model.sequence = 32;
  problem.model.implementation = Implementation::Megatron;
  problem.global_batch = 8;
  problem.gpus_of_node = 4;
  const double states = 16 * (8 * 12.0 * 1024 * 1024 + 1024 * 1024);
  const auto least = [&](int more, double share) {
    return least_gpus(problem, more, [&](Bytes bound) { return bound <= Bytes{states * share}; });
  };
  EXPECT_EQ(least(0, 0.3), 4);
  EXPECT_EQ(least(4, 0.3), 8);
  EXPECT_EQ(least(2, 0.2), 8);
  EXPECT_EQ(least(0, 0), std::nullopt);
}

}  // namespace
}  // namespace lockstep
