// Cross-entropy as PyTorch's autocast has it: in which type its log-softmax is, and what is cast.

#include "ops/workload/layers/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

constexpr CrossEntropyShape kShape{.batch = 4, .sequence = 128, .classes = 1000};

std::vector<KernelCall> forward(const CrossEntropyShape& shape, TensorTypes types,
                                const FrameworkSpec& framework = {}) {
  StepWriter step{plain_host(), 1, framework, types};
  cross_entropy_forward(step, shape);
  return step.take_program().kernels;
}

std::vector<KernelCall> backward(const CrossEntropyShape& shape, TensorTypes types) {
  StepWriter step{plain_host(), 1, {}, types};
  cross_entropy_backward(step, shape);
  return step.take_program().kernels;
}

/// Launches of the backward pass; a kernel that is launched twice is one of a program's.
std::int64_t backward_launches(const CrossEntropyShape& shape, TensorTypes types,
                               const FrameworkSpec& framework) {
  StepWriter step{plain_host(), 1, framework, types};
  cross_entropy_backward(step, shape);
  const Program program = step.take_program();
  return std::ranges::count(program.threads.front().instructions, Opcode::Launch, &Instruction::op);
}

std::vector<std::string> names_of(const std::vector<KernelCall>& calls) {
  std::vector<std::string> names;
  for (const KernelCall& call : calls) {
    names.push_back(call.name);
  }
  return names;
}

TEST(CrossEntropy, AutocastsLogSoftmaxIsIn16BitsAndItsResultIsCast) {
  CrossEntropyShape shape = kShape;
  shape.shifted = false;
  const std::vector<KernelCall> calls = forward(shape, Precision::BF16);
  EXPECT_EQ(names_of(calls),
            (std::vector<std::string>{"cunn_SoftMaxForward", "unrolled_elementwise_kernel<cast>",
                                      "nll_loss_forward_reduce_cuda_kernel_2d"}));
  EXPECT_EQ(calls[0].type, DataType::BF16);
  EXPECT_EQ(calls[2].type, DataType::FP32);
  const std::vector<KernelCall> gradients = backward(shape, Precision::BF16);
  EXPECT_EQ(names_of(gradients),
            (std::vector<std::string>{"vectorized_elementwise_kernel<fill>",
                                      "nll_loss_backward_reduce_cuda_kernel_2d",
                                      "unrolled_elementwise_kernel<cast>", "cunn_SoftMaxBackward"}));
  EXPECT_EQ(gradients[3].type, DataType::BF16);
}

TEST(CrossEntropy, LogitsThatTheModelMakesFp32StayIt) {
  CrossEntropyShape shape = kShape;
  shape.shifted = false;
  shape.cast_first = true;
  const std::vector<KernelCall> calls = forward(shape, Precision::BF16);
  EXPECT_EQ(names_of(calls),
            (std::vector<std::string>{"unrolled_elementwise_kernel<cast>", "cunn_SoftMaxForward",
                                      "nll_loss_forward_reduce_cuda_kernel_2d"}));
  EXPECT_EQ(calls[1].type, DataType::FP32);
}

/// PyTorch 2.11 takes the second slice of [..., :-1, :] for what it is.
TEST(CrossEntropy, ASliceOfAWholeDimensionIsNoOperator) {
  FrameworkSpec framework;
  EXPECT_EQ(backward_launches(kShape, Precision::FP32, framework), 7);
  framework.slices_whole_dimensions = false;
  EXPECT_EQ(backward_launches(kShape, Precision::FP32, framework), 5);
}

}  // namespace
}  // namespace lockstep
