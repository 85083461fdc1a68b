#include "ops/workload/layers/batch_norm.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

double instructions_of_transform(const ImageShape& of) {
  const auto kernels = kernels::batch_norm(of, DataType::BF16, true, Direction::Forward);
  return std::get<Pointwise>(kernels.back().work).instructions;
}

TEST(BatchNorm, ThreadsOfSmallPlanesHaveLittleToDo) {
  // 7 x 7 pixels: blocks of 64 threads, 64 of them for 2,048 channels (128 would be allowed), so that 64
  // threads of 195 instructions each have 49 elements.
  EXPECT_DOUBLE_EQ(instructions_of_transform({.batch = 64, .channels = 2048, .height = 7, .width = 7}),
                   195.0 * 64 / 49);
  // 256 images: 128 blocks have two each.
  EXPECT_DOUBLE_EQ(instructions_of_transform({.batch = 256, .channels = 2048, .height = 7, .width = 7}),
                   195.0 * 64 / 98);
  // 56 x 56: 784 / 512 is more than a block, which has 512 threads and 3,136 elements: 50 an element are
  // more.
  EXPECT_DOUBLE_EQ(instructions_of_transform({.batch = 64, .channels = 256, .height = 56, .width = 56}), 50);
}

TEST(BatchNorm, OfOtherTypesIsOneKernelOfCuDnn) {
  const ImageShape images{.batch = 2, .channels = 8, .height = 4, .width = 4};
  EXPECT_EQ(kernels::batch_norm(images, DataType::FP32, true, Direction::Backward).size(), 1U);
  EXPECT_EQ(kernels::batch_norm(images, DataType::BF16, true, Direction::Backward).size(), 1U);
  EXPECT_EQ(kernels::batch_norm(images, DataType::BF16, false, Direction::Backward).size(), 2U);
}

}  // namespace
}  // namespace lockstep
