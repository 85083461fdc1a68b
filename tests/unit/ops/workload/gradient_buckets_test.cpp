#include "ops/workload/gradient_buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::ElementsAre;

// The gradients of ../shared/data/traces/dlrm_8xv100 in their order: bias and weight of the top MLP
// 367-512-512-256-1 from its last layer on, then of the bottom MLP 13-256-128-16.
const std::vector<std::int64_t> kDlrm8Gradients{1,  256,      256, 256 * 512, 512, 512 * 512, 512, 512 * 367,
                                                16, 16 * 128, 128, 128 * 256, 256, 256 * 13};

TEST(GradientBuckets, AreThoseOfTheEightV100Trace) {
  StepWriter step{plain_host(), 8, {.gradient_as_bucket_view = true}, Precision::FP32};
  GradientBuckets buckets{step, {}, kDlrm8Gradients.size()};
  for (const std::int64_t elements : kDlrm8Gradients) {
    buckets.ready(elements);
  }
  buckets.finish();
  // nccl:all_reduce [[394241]] and [[226960]] in worker0_step_12.
  EXPECT_THAT(buckets.sizes(), ElementsAre(394241, 226960));
  const std::vector<VertexId> gpus(8, 0);
  const Job job = std::move(step).finish(gpus);
  EXPECT_NO_THROW(check(job));
  EXPECT_EQ(job.programs[0]->collectives.size(), 2U);
  EXPECT_EQ(job.programs[0]->collectives[0].size, 4.0 * 394241 * 1_B);
}

TEST(GradientBuckets, TheLimitAfterTheFirstIsTheLargerOne) {
  StepWriter step{plain_host(), 2, {}, Precision::FP32};
  GradientBuckets buckets{step, {.first = 8_B, .others = 16_B}, 7};
  for (int gradient = 0; gradient < 7; ++gradient) {
    buckets.ready(1);
  }
  buckets.finish();
  EXPECT_THAT(buckets.sizes(), ElementsAre(2, 4, 1));
}

TEST(GradientBuckets, GradientsAreCopiedBackUnlessTheyAreViews) {
  const auto copies = [](bool view) {
    StepWriter step{plain_host(), 2, {.gradient_as_bucket_view = view}, Precision::FP32};
    GradientBuckets buckets{step, {}, 2};
    buckets.ready(1);
    buckets.ready(2);
    buckets.finish();
    const std::vector<VertexId> gpus(2, 0);
    return operators_of(std::move(step).finish(gpus)).size();
  };
  EXPECT_EQ(copies(true), 3U);   // the scaling of each, the all-reduce
  EXPECT_EQ(copies(false), 5U);  // and the copy back
}

TEST(GradientBuckets, ApexGathersReducesAndCopiesBackOnAStreamOfItsOwn) {
  StepWriter step{plain_host(), 2, {.apex = true}, Precision::FP32};
  GradientBuckets buckets{step, {.first = 4_B, .others = 12_B}, 5};
  for (int gradient = 0; gradient < 5; ++gradient) {
    buckets.ready(1);
  }
  buckets.finish();
  EXPECT_THAT(buckets.sizes(), ElementsAre(3, 2)) << "the first bucket is as large as the others";
  const std::vector<VertexId> gpus(2, 0);
  const Job job = std::move(step).finish(gpus);
  EXPECT_NO_THROW(check(job));
  const std::vector<ListedOperator> listed = operators_of(job);
  std::vector<std::string> names;
  for (const ListedOperator& each : listed) names.push_back(each.name);
  const std::vector<std::string> bucket{"apex_C::flatten", "c10d::allreduce_", "aten::mul_",
                                        "multi_tensor_scale"};
  EXPECT_THAT(names, ElementsAre(bucket[0], bucket[1], bucket[2], bucket[3], bucket[0], bucket[1], bucket[2],
                                 bucket[3]));
  // Compute, NCCL's and Apex's.
  EXPECT_EQ(job.programs[0]->streams.size(), 3U);
}

TEST(GradientBuckets, AMissingGradientIsAMistake) {
  StepWriter step{plain_host(), 2, {}, Precision::FP32};
  GradientBuckets buckets{step, {}, 2};
  buckets.ready(1);
  EXPECT_THROW(buckets.finish(), std::logic_error);
}

TEST(GradientBuckets, OneRankCommunicatesNothing) {
  StepWriter step{plain_host(), 1, {}, Precision::FP32};
  GradientBuckets buckets{step, {}, 1};
  buckets.ready(1);
  buckets.finish();
  const std::vector<VertexId> gpus(1, 0);
  const Job job = std::move(step).finish(gpus);
  EXPECT_TRUE(job.groups.empty());
  EXPECT_TRUE(job.programs[0]->threads[0].instructions.empty());
}

}  // namespace
}  // namespace lockstep
