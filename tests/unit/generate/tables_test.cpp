#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include "generate/beside.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/refinement.hpp"
#include "ops/job.hpp"

namespace lockstep::generate {
namespace {

using ::testing::ElementsAre;

/// Two ranks, each with a kernel of its own on one stream, and an all-reduce.
constexpr const char* kTwoRanks = R"(lockstep-benchmark 2
seed 1
group 0,1 world
program
stream compute
uses world
name step
events 1 -
flags 0
memory 4096
view 0 2048
view 2048 2048
kernel busy recorded 1e-05 0 0 0 -1 other first
kernel library modelled 2e-05 3000 2000 0 3 gemm second
operands 0 1
call gemm fp32 m=8 n=8 k=8
communication all_reduce fp32 0 4096 0 0 0 -1 0 -
thread main
open 0 0 0 0
launch* 0 0 1e-06 1e-06
record 0 0 0 1e-06
collective 0 0 0 1e-06
close 0 0 0 0
rank 0 0 0 -
rank 0 0 1 -
)";

benchmark::Table two_ranks() {
  std::istringstream text{kTwoRanks};
  return benchmark::read_table(text);
}

TEST(OperationTable, KeepsPlacesOfOperands) {
  const std::string text = to_text(two_ranks());
  EXPECT_THAT(text, ::testing::HasSubstr("memory 4096\nview 0 2048\nview 2048 2048\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("operands 0 1\n"));
  std::istringstream again{text};
  EXPECT_EQ(to_text(benchmark::read_table(again)), text);
}

TEST(Beside, BothJobsHaveTheirOwn) {
  const benchmark::Table both = beside(two_ranks(), two_ranks());
  ASSERT_EQ(both.programs.size(), 1U);
  const benchmark::Program& program = both.programs.front();
  EXPECT_EQ(program.streams.size(), 2U);
  EXPECT_EQ(program.events, 2U);
  EXPECT_EQ(program.memory, 8192);
  EXPECT_EQ(program.views.at(2).place, 4096);
  EXPECT_THAT(program.kernels.at(3).reads, ElementsAre(2U));
  EXPECT_EQ(program.kernels.at(3).graph, 7);  // four graphs are counted before it: 0 to 3
  ASSERT_EQ(program.threads.size(), 2U);
  const auto& second = program.threads[1].instructions;
  EXPECT_EQ(second.at(0).operand, 1U);  // its name
  EXPECT_EQ(second.at(1).operand, 1U);  // its slot
  EXPECT_EQ(second.at(1).stream, 1U);
  EXPECT_EQ(second.at(2).operand, 1U);  // its event
  EXPECT_EQ(second.at(3).operand, 1U);  // its collective
  EXPECT_EQ(program.collectives.at(1).group, 1U);
  EXPECT_THAT(both.ranks.at(1).groups, ElementsAre(0U, 1U));
  EXPECT_THAT(both.ranks.at(1).kernel_slots, ElementsAre(1U, 3U));
  EXPECT_EQ(totals_of(both).launches, 2 * totals_of(two_ranks()).launches);
  EXPECT_EQ(totals_of(both).kernel_flops, 2 * totals_of(two_ranks()).kernel_flops);
}

TEST(Beside, ASmallerJobStandsBesideTheFirstRanks) {
  benchmark::Table one = two_ranks();
  one.ranks.pop_back();
  one.groups.front().ranks.pop_back();
  const benchmark::Table both = beside(two_ranks(), one);
  ASSERT_EQ(both.programs.size(), 2U);
  EXPECT_EQ(both.programs[both.ranks[0].program].threads.size(), 2U);
  EXPECT_EQ(both.programs[both.ranks[1].program].threads.size(), 1U);
  EXPECT_THROW((void)beside(one, two_ranks()), std::invalid_argument);
}

MeasuredRank measured(std::uint32_t rank, std::vector<double> kernels) {
  MeasuredRank made;
  made.rank = rank;
  made.kernels = std::move(kernels);
  return made;
}

TEST(Refinement, CorrectsBusyKernelsAndDelaysFastOnes) {
  // Rank 0 launches the busy kernel, rank 1 the product.
  benchmark::Table table = two_ranks();
  const auto refined = refine(table, {measured(0, {1.4e-5, -1}), measured(1, {-1, 1.5e-5})});
  ASSERT_EQ(refined.size(), 2U);
  EXPECT_NEAR(table.programs[0].kernels[0].delay, -4e-6, 1e-12);
  EXPECT_NEAR(table.programs[0].kernels[1].delay, 5e-6, 1e-12);
  // The second round adds to the first.
  refine(table, {measured(0, {9e-6, -1}), measured(1, {-1, 2e-5})});
  EXPECT_NEAR(table.programs[0].kernels[0].delay, -3e-6, 1e-12);
  EXPECT_NEAR(table.programs[0].kernels[1].delay, 5e-6, 1e-12);
}

TEST(Refinement, SaysWhatIsTooSlow) {
  benchmark::Table table = two_ranks();
  const auto refined = refine(table, {measured(1, {-1, 3e-5})});
  ASSERT_EQ(refined.size(), 1U);
  EXPECT_TRUE(refined.front().is_too_slow);
  EXPECT_EQ(table.programs[0].kernels[1].delay, 0);
  EXPECT_THAT(refine(table, {measured(1, {-1, 1.9e-5})}), ::testing::IsEmpty());  // within a tenth
  EXPECT_THROW((void)refine(table, {measured(0, {1e-5})}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::generate
