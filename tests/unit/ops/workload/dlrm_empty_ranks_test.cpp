/// @file
/// Ranks that a plan leaves without tables, of some groups or of all: they launch nothing for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<KernelCall> kernels_of(const Job& job, std::size_t rank) {
  std::vector<KernelCall> calls;
  const RankAssignment& assignment = job.ranks.at(rank);
  const Program& program = *job.programs.at(assignment.program);
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) {
        calls.push_back(program.kernels.at(i.per_rank ? assignment.kernel_slots.at(i.operand) : i.operand));
      }
    }
  }
  return calls;
}

bool is_empty(const KernelCall& call) {
  if (const auto* const pass = std::get_if<Pointwise>(&call.work)) {
    return pass->elements == 0;
  }
  const auto* const bags = std::get_if<EmbeddingBags>(&call.work);
  return bags != nullptr && bags->tables.empty();
}

std::vector<std::string> names_of_operators(const Job& job, std::size_t rank) {
  std::vector<std::string> names;
  for (const ListedOperator& op : operators_of(job, rank)) {
    names.push_back(op.name);
  }
  return names;
}

void expect_nothing_empty(const Job& job) {
  check(job);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    for (const KernelCall& call : kernels_of(job, rank)) {
      EXPECT_FALSE(is_empty(call)) << call.name << " on rank " << rank;
    }
  }
}

PlannedJob four_tables(std::vector<TableShardingSpec> plan) {
  return {.spec = tables_only({{.rows = {1000, 2000, 3000, 4000}, .dimension = 8}}), .plan = std::move(plan)};
}

TEST(DlrmEmptyRanks, LookNothingUp) {
  for (const EmbeddingKernels kernels :
       {EmbeddingKernels::Batched, EmbeddingKernels::Fbgemm, EmbeddingKernels::Joint}) {
    PlannedJob planned_job = four_tables(
        {planned({0, 1}, TableSharding::TableWise, {1}), planned({2, 3}, TableSharding::TableWise, {2})});
    planned_job.spec.embedding_kernels = kernels;
    const Job job = planned_job.job();
    expect_nothing_empty(job);
    ASSERT_EQ(job.programs.size(), 2U);
    EXPECT_EQ(job.ranks[0].program, job.ranks[3].program);
    EXPECT_EQ(job.ranks[1].program, job.ranks[2].program);
    for (const std::size_t rank : {0U, 3U}) {
      EXPECT_THAT(names_of_operators(job, rank), Not(Contains("LookupFunction")));
      EXPECT_THAT(names_of_operators(job, rank), Not(Contains("LookupFunctionBackward")));
    }
    EXPECT_THAT(names_of_operators(job, 1), Contains("LookupFunction"));
  }
}

/// The exchange is what it was: rows of the others' tables come, their gradients go.
TEST(DlrmEmptyRanks, ExchangeAsTheOthers) {
  const Job job = four_tables({planned({0, 1, 2, 3}, TableSharding::TableWise, {0})}).job();
  expect_nothing_empty(job);
  const std::string gradients = "all_to_all world 2048 [2048, 0, 0, 0]";  // 16 samples of 32 elements
  EXPECT_THAT(exchanges_in_words(job, 0),
              ::testing::ElementsAre("all_to_all world 8192 [2048, 2048, 2048, 2048]", gradients));
  EXPECT_THAT(exchanges_in_words(job, 3),
              ::testing::ElementsAre("all_to_all world 0 [0, 0, 0, 0]", gradients));
}

/// Whole tables on rank 1, rows of one on the second node, a copy everywhere: three kinds of ranks.
TEST(DlrmEmptyRanks, MayHoldTablesOfOtherGroups) {
  for (const bool distributed : {false, true}) {
    PlannedJob planned_job =
        four_tables({planned({0}, TableSharding::TableWise, {1}), planned_on_node({1}, 1),
                     planned({2, 3}, TableSharding::DataParallel)});
    planned_job.nodes = {0, 0, 1, 1};
    planned_job.input_distribution = distributed;
    const Job job = planned_job.job();
    expect_nothing_empty(job);
    EXPECT_EQ(job.programs.size(), 3U);
    EXPECT_EQ(job.ranks[2].program, job.ranks[3].program);
    EXPECT_NE(job.ranks[0].program, job.ranks[1].program);
    const auto lookups = [&](std::size_t rank) {
      return std::ranges::count(names_of_operators(job, rank), "LookupFunction");
    };
    EXPECT_EQ(lookups(0), 1);
    EXPECT_EQ(lookups(1), 2);
    EXPECT_EQ(lookups(2), 2);
  }
}

TEST(DlrmEmptyRanks, EncodeNothing) {
  PlannedJob planned_job = four_tables({planned({0, 1, 2, 3}, TableSharding::ColumnWise, {0, 2})});
  planned_job.types = {.forward = CommunicationType::FP16, .backward = CommunicationType::BF16};
  expect_nothing_empty(planned_job.job());
}

/// A rule leaves some of the ranks without tables if there are fewer tables than ranks, as a plan may.
TEST(DlrmEmptyRanks, AreLeftByRules) {
  const DlrmSpec spec = four_tables({}).spec;
  const std::vector<Bytes> memory(6, Bytes{80e9});
  for (const auto& planner : names_of(EmbeddingPlanner{})) {
    EmbeddingPlanSpec how;
    how.planner = planner.value;
    const EmbeddingPlan plan = embedding_plan(spec, how, memory);
    ASSERT_EQ(plan.tables.size(), 4U) << planner.name;
    for (const TableShardingSpec& entry : plan.tables) {
      EXPECT_EQ(entry.tables.size(), 1U) << planner.name;
      EXPECT_LT(entry.ranks.at(0), 4) << planner.name;
    }
    PlannedJob planned_job = four_tables(plan.tables);
    planned_job.nodes.assign(6, 0);
    planned_job.batch = 96;
    expect_nothing_empty(planned_job.job());
  }
}

}  // namespace
}  // namespace lockstep
