#include "ops/workload/multi_tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(MultiTensor, FewSmallTensorsAreOneLaunch) {
  EXPECT_THAT(multi_tensor_launches(std::vector<std::int64_t>{10, 20, 0, 30}, 1),
              ElementsAre(MultiTensorLaunch{60, 3}));
}

TEST(MultiTensor, TheNumberOfTensorsDependsOnTheOperands) {
  const std::vector<std::int64_t> tensors(111, 1);
  EXPECT_THAT(multi_tensor_launches(tensors, 1),
              ElementsAre(MultiTensorLaunch{110, 110}, MultiTensorLaunch{1, 1}));
  EXPECT_EQ(multi_tensor_launches(tensors, 3).size(), 3U);  // 48 + 48 + 15
  EXPECT_EQ(multi_tensor_launches(tensors, 4).size(), 4U);  // 36 + 36 + 36 + 3
}

TEST(MultiTensor, ALaunchHoldsAtMost320Chunks) {
  // 400 chunks: 320 in the first launch, 80 in the second, which continues the tensor.
  const std::int64_t chunk = 65536;
  EXPECT_THAT(multi_tensor_launches(std::vector<std::int64_t>{400 * chunk}, 2),
              ElementsAre(MultiTensorLaunch{320 * chunk, 1}, MultiTensorLaunch{80 * chunk, 1}));
}

TEST(MultiTensor, ATensorThatEndsWithTheLastChunkIsNotContinued) {
  const std::int64_t chunk = 65536;
  EXPECT_THAT(multi_tensor_launches(std::vector<std::int64_t>{320 * chunk, 5}, 1),
              ElementsAre(MultiTensorLaunch{320 * chunk, 1}, MultiTensorLaunch{5, 1}));
}

}  // namespace
}  // namespace lockstep
