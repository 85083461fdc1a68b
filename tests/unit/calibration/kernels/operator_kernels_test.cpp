#include "calibration/kernels/operator_kernels.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using Words = std::map<std::string, std::string>;

Words experts(const std::string& name) {
  return {
      {"operator", name}, {"experts", "8"}, {"tokens", "4096"}, {"hidden", "1024"}, {"feed_forward", "512"}};
}

std::string complaint(const std::string& family, const Words& words) {
  try {
    (void)operator_kernels(family, "bf16", words);
    return "";
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
}

TEST(OperatorKernels, ExpertsShareTheirTokensEvenly) {
  const auto grouped = operator_kernels("experts", "bf16", experts("grouped_mm"));
  ASSERT_EQ(grouped.size(), 2U);
  EXPECT_EQ(std::get<Gemm>(grouped.back().work),
            (Gemm{.batch = 8, .m = 512, .n = 512, .k = 1024, .grouped = true}));
  const auto one = operator_kernels("experts", "bf16", experts("one_expert"));
  EXPECT_EQ(std::get<Gemm>(one.front().work), (Gemm{.m = 512, .n = 512, .k = 1024}));
  EXPECT_EQ(operator_kernels("experts", "bf16", experts("topk")).front().type, DataType::FP32);
}

TEST(OperatorKernels, AKernelByItselfIsOneToo) {
  const auto softmax = operator_kernels("softmax", "fp16", {{"rows", "2"}, {"columns", "3"}});
  ASSERT_EQ(softmax.size(), 1U);
  EXPECT_EQ(std::get<Softmax>(softmax.front().work).columns, 3);
}

TEST(OperatorKernels, PoolsAndNormsOfTf32AreStoredInFp32) {
  const Words images{
      {"pass", "backward"}, {"batch", "2"}, {"channels", "4"}, {"size", "8"}, {"channels_first", "1"}};
  EXPECT_EQ(operator_kernels("batch_norm", "tf32", images).front().type, DataType::FP32);
  const auto pool = operator_kernels("max_pool", "tf32", images);
  ASSERT_EQ(pool.size(), 2U);
  EXPECT_EQ(std::get<Pointwise>(pool.back().work).elements, 2 * 4 * 4 * 4);  // outputs
}

TEST(OperatorKernels, ProblemsSayWhatWouldBeRight) {
  EXPECT_THAT(complaint("expert", experts("topk")), HasSubstr("did you mean 'experts'"));
  EXPECT_THAT(complaint("experts", experts("sort")), HasSubstr("none of grouped_mm, one_expert"));
  Words odd = experts("topk");
  odd["experts"] = "7";
  EXPECT_THAT(complaint("experts", odd), HasSubstr("4096 tokens are not spread evenly over 7 experts"));
  Words more = experts("topk");
  more["chosen"] = "2";
  EXPECT_THAT(complaint("experts", more), HasSubstr("there is no chosen="));
  EXPECT_THAT(complaint("reduction", {{"operator", "rows"}, {"rows", "4"}}), HasSubstr("no columns="));
}

}  // namespace
}  // namespace lockstep
