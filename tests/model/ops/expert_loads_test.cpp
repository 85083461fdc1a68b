/// @file
/// Uneven loads of experts against Zipf's law and the conservation of tokens.

#include "ops/workload/parallel/expert_loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

ExpertsSpec experts(double imbalance, double capacity = 1) {
  return {.count = 8, .per_token = 2, .feed_forward = 1024, .capacity = capacity, .imbalance = imbalance};
}

std::vector<double> sorted_loads(const ExpertsSpec& spec, std::int64_t layer = 0) {
  std::vector<double> loads = ExpertLoads{spec}.of(layer);
  std::sort(loads.begin(), loads.end(), std::greater<>{});
  return loads;
}

/// load_i = imbalance / i^s: the mean is 1, and with l_2 = l_1 / 2^s the fourth is l_1 / 4^s = l_2^2 / l_1.
TEST(ExpertLoads, FollowZipfsLaw) {
  const std::vector<double> loads = sorted_loads(experts(2.5));
  EXPECT_DOUBLE_EQ(loads[0], 2.5);
  EXPECT_NEAR(std::accumulate(loads.begin(), loads.end(), 0.0), 8, 1e-12);
  EXPECT_NEAR(loads[3], loads[1] * loads[1] / loads[0], 1e-12);
  EXPECT_NEAR(loads[7], loads[1] * loads[3] / loads[0], 1e-12);
}

TEST(ExpertLoads, LoseWhatIsBeyondTheCapacity) {
  const std::vector<double> all = sorted_loads(experts(2.5)), kept = sorted_loads(experts(2.5, 1.5));
  for (std::size_t expert = 0; expert < all.size(); ++expert) {
    EXPECT_EQ(kept[expert], std::min(all[expert], 1.5));
  }
  EXPECT_EQ(sorted_loads(experts(1, 1.5)), std::vector<double>(8, 1.5));  // even: padded
}

TEST(ExpertLoads, AreDrawnByTheSeed) {
  ExpertsSpec spec = experts(2.5);
  EXPECT_EQ(ExpertLoads{spec}.of(3), ExpertLoads{spec}.of(3));
  EXPECT_NE(ExpertLoads{spec}.of(3), ExpertLoads{spec}.of(4));
  const std::vector<double> before = ExpertLoads{spec}.of(3);
  spec.seed = 1;
  EXPECT_NE(ExpertLoads{spec}.of(3), before);
  EXPECT_EQ(sorted_loads(spec, 3), sorted_loads(spec, 4));
}

TransformerSpec mixture(double imbalance) {
  TransformerSpec spec = gpt3();
  spec.layers = 1;
  spec.hidden = 1024;
  spec.heads = 16;
  spec.sequence = spec.positions = 1024;
  spec.dropout = false;
  spec.experts = experts(imbalance);
  return spec;
}

std::vector<std::int64_t> expert_rows(const Job& job, std::size_t rank) {
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  std::vector<std::int64_t> rows;
  for (const std::uint32_t slot : assignment.kernel_slots) {
    const auto* gemm = std::get_if<Gemm>(&program.kernels[slot].work);
    if (gemm != nullptr && gemm->transpose_b && gemm->n == 1024 && gemm->k == 1024) {
      rows.push_back(gemm->m);
    }
  }
  return rows;
}

/// 4 ranks of 1024 tokens that go to 2 of 8 experts: 1024 tokens an expert on the mean, two experts a rank.
/// The busiest has 2.5 times as many; all together have as many as with even loads, but for rounding up.
TEST(ExpertLoads, AreTheRowsOfExpertsProducts) {
  const Batch run{.ranks = 4, .batch = 4};
  const Job job = job_of(mixture(2.5), {.expert = 4}, run);
  std::vector<std::int64_t> rows;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::vector<std::int64_t> here = expert_rows(job, rank);
    ASSERT_EQ(here.size(), 4U) << "two experts, in and out";
    rows.insert(rows.end(), here.begin(), here.begin() + 2);
  }
  EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), 2560);
  const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  EXPECT_GE(all, 8 * 1024);
  EXPECT_LE(all, 8 * 1024 + 7);
}

/// A rank sends tokens to the ranks of experts, and so does each; it gets back from each what it sent there.
TEST(ExpertLoads, TravelThereAndBack) {
  const Batch run{.ranks = 4, .batch = 4};
  const Job job = job_of(mixture(2.5), {.expert = 4}, run);
  std::vector<std::vector<CollectiveCall>> calls;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    calls.push_back(collectives_of(job, rank, CollectiveKind::AllToAll));
    ASSERT_EQ(calls.back().size(), 4U);  // there and back, forward and backward
  }
  const double bytes = 2.0 * 1024 * 2 * 1024;  // 1024 tokens to two experts each, BF16
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_NEAR(calls[rank][0].size.in_base_units(), bytes, 1e-6 * bytes);
    EXPECT_EQ(calls[rank][0].send_bytes, calls[0][0].send_bytes);
    for (std::size_t other = 0; other < 4; ++other) {
      EXPECT_EQ(calls[rank][1].send_bytes[other], calls[other][0].send_bytes[rank]);
    }
  }
  const Job even = job_of(mixture(1), {.expert = 4}, run);
  EXPECT_EQ(collectives_of(even, 0, CollectiveKind::AllToAll).front().size.in_base_units(), bytes);
}

}  // namespace
}  // namespace lockstep
