// Bytes of every collective of every sharding, in closed form (ops/workload/layers/embedding_exchange.hpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Way = TableSharding;

// Four ranks in one node, 64 samples, 16 of them on each rank; FP32, so 4 bytes an element.

/// Ranks 0 to 3 hold tables of 8, 8, 16 and 32 elements. Rank r sends 16 x d(r) x 4 bytes to each of the
/// four: 4 x 16 x 8 x 4 = 2048 for the first; backward each sends 16 x d x 4 of every holder: 512, 512, 1024,
/// 2048.
TEST(EmbeddingExchange, TableWise) {
  const PlannedJob planned_job{
      .spec = tables_only({{.rows = {100, 100}, .dimension = 8},
                           {.rows = {100}, .dimension = 16},
                           {.rows = {100}, .dimension = 32}}),
      .plan = {planned({0}, Way::TableWise, {0}), planned({1}, Way::TableWise, {1}),
               planned({2}, Way::TableWise, {2}), planned({3}, Way::TableWise, {3})}};
  const Job job = planned_job.job();
  EXPECT_NO_THROW(check(job));
  const std::string backward = "all_to_all world 4096 [512, 512, 1024, 2048]";
  EXPECT_THAT(exchanges_in_words(job, 0),
              ElementsAre("all_to_all world 2048 [512, 512, 512, 512]", backward));
  EXPECT_THAT(exchanges_in_words(job, 3),
              ElementsAre("all_to_all world 8192 [2048, 2048, 2048, 2048]", backward));
}

/// A table of 32 columns in pieces on ranks 0, 0 and 1, 2: 8 columns each, so widths 16, 8, 8, 0.
TEST(EmbeddingExchange, ColumnWise) {
  const PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 32}}),
                               .plan = {planned({0}, Way::ColumnWise, {0, 0, 1, 2})}};
  const Job job = planned_job.job();
  EXPECT_NO_THROW(check(job));
  const std::string backward = "all_to_all world 2048 [1024, 512, 512, 0]";
  EXPECT_THAT(exchanges_in_words(job, 0),
              ElementsAre("all_to_all world 4096 [1024, 1024, 1024, 1024]", backward));
  EXPECT_THAT(exchanges_in_words(job, 1),
              ElementsAre("all_to_all world 2048 [512, 512, 512, 512]", backward));
  EXPECT_THAT(exchanges_in_words(job, 3), ElementsAre("all_to_all world 0 [0, 0, 0, 0]", backward));
}

/// Partial sums of all 64 samples for 8 + 16 columns: 64 x 24 x 4 = 6144 bytes, on every rank.
TEST(EmbeddingExchange, RowWise) {
  const PlannedJob planned_job{
      .spec = tables_only({{.rows = {100}, .dimension = 8}, {.rows = {1000}, .dimension = 16}}),
      .plan = {planned({0, 1}, Way::RowWise)}};
  const Job job = planned_job.job();
  EXPECT_NO_THROW(check(job));
  for (const std::size_t rank : {0U, 3U}) {
    EXPECT_THAT(exchanges_in_words(job, rank),
                ElementsAre("reduce_scatter world 6144", "all_gather world 6144"));
  }
}

/// Two nodes of two ranks, a table of 8 columns on the first and one of 32 on the second: a rank of the first
/// sums 64 x 8 x 4 = 2048 bytes with its neighbour, keeps half, and sends half of that to its partner on the
/// other node: 16 samples of it. 64 x 32 x 4 = 8192 on the second. Backward a rank sends its partner the
/// partner's gradients.
TEST(EmbeddingExchange, TableRowWiseOnTwoNodes) {
  const PlannedJob planned_job{
      .spec = tables_only({{.rows = {100}, .dimension = 8}, {.rows = {1000}, .dimension = 32}}),
      .plan = {planned_on_node({0}, 0), planned_on_node({1}, 1)},
      .nodes = {0, 0, 1, 1}};
  const Job job = planned_job.job();
  EXPECT_NO_THROW(check(job));
  EXPECT_THAT(exchanges_in_words(job, 1),
              ElementsAre("reduce_scatter node 2048", "all_to_all cross 1024 [512, 512]",
                          "all_to_all cross 2560 [512, 2048]", "all_gather node 2048"));
  EXPECT_THAT(exchanges_in_words(job, 2),
              ElementsAre("reduce_scatter node 8192", "all_to_all cross 4096 [2048, 2048]",
                          "all_to_all cross 2560 [512, 2048]", "all_gather node 8192"));
  const auto ranks_of = [&](std::size_t rank, std::size_t group) {
    return job.groups[job.ranks[rank].groups[group]].ranks;
  };
  ASSERT_EQ(job.programs[0]->groups, (std::vector<std::string>{"node", "cross", "world"}));
  EXPECT_THAT(ranks_of(2, 0), ElementsAre(2, 3));
  EXPECT_THAT(ranks_of(2, 1), ElementsAre(0, 2));
}

/// In one node nothing is left to exchange after the sum.
TEST(EmbeddingExchange, TableRowWiseInOneNode) {
  const PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 8}}),
                               .plan = {planned_on_node({0}, 0)}};
  EXPECT_THAT(exchanges_in_words(planned_job.job(), 0),
              ElementsAre("reduce_scatter node 2048", "all_gather node 2048"));
}

/// No exchange; besides the MLPs' gradients (4 x 8 + 8 + 40 + 1 = 81 elements: 8 of the bottom MLP and 32 of
/// the table make the top one's 40 inputs) all 100 x 32 weights are reduced, in a bucket of their own, behind
/// them.
TEST(EmbeddingExchange, DataParallel) {
  const PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 32}}),
                               .plan = {planned({0}, Way::DataParallel)}};
  const Job job = planned_job.job();
  EXPECT_NO_THROW(check(job));
  std::vector<double> reduced;
  for (const CollectiveCall& call : collectives_of(job, 2)) {
    EXPECT_EQ(call.kind, CollectiveKind::AllReduce);
    reduced.push_back(call.size.in_base_units());
  }
  EXPECT_THAT(reduced, ElementsAre(81 * 4, 100 * 32 * 4));
}

/// 2 bytes an element there, and back 1.25 (int8: 40 bytes for 32 elements). NCCL cannot add up bytes, so
/// that the row-wise table's sums travel as FP16.
TEST(EmbeddingExchange, EncodedBytes) {
  PlannedJob planned_job{
      .spec = tables_only({{.rows = {100}, .dimension = 32}, {.rows = {100}, .dimension = 32}}),
      .plan = {planned({0}, Way::ColumnWise, {0, 1, 2, 3}), planned({1}, Way::RowWise)},
      .types = {CommunicationType::FP16, CommunicationType::INT8}};
  // Each table has 64 x 32 elements in all; a rank holds a quarter of the first's columns: 64 x 8.
  EXPECT_THAT(exchanges_in_words(planned_job.job(), 0),
              ElementsAre("all_to_all world 1024", "reduce_scatter world 4096", "all_gather world 2560",
                          "all_to_all world 640"));
  planned_job.types = {CommunicationType::FP8, CommunicationType::BF16};
  EXPECT_THAT(exchanges_in_words(planned_job.job(), 0),
              ElementsAre("all_to_all world 512", "reduce_scatter world 4096", "all_gather world 4096",
                          "all_to_all world 1024"));
}

/// Two row-wise tables on two ranks, written out: what is launched from the lookup to the interaction, and
/// from there back.
TEST(EmbeddingExchange, RowWiseOnTwoRanksByHand) {
  const PlannedJob planned_job{
      .spec = tables_only({{.rows = {100, 100}, .dimension = 16, .pooling_factor = 4}}),
      .plan = {planned({0, 1}, Way::RowWise)},
      .batch = 32,
      .nodes = {0, 0},
      .types = {CommunicationType::FP16, CommunicationType::FP32}};
  const Job job = planned_job.job();
  std::vector<std::string> lines;
  for (const ListedOperator& listed : operators_of(job)) {
    const bool is_ours = listed.name.starts_with("ReduceScatter") || listed.name.starts_with("Lookup");
    if (is_ours) {
      lines.push_back(fmt::format("{}: {}", listed.name, fmt::join(listed.kernels, " ")));
    }
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          "LookupFunction: bounds_check_indices_kernel split_embedding_codegen_forward_unweighted_kernel",
          "ReduceScatterBase_Req: vectorized_elementwise_kernel<clamp> "
          "unrolled_elementwise_kernel<cast> reduce_scatter",
          "ReduceScatterBase_Wait: unrolled_elementwise_kernel<cast>",
          "ReduceScatterBase_WaitBackward: all_gather",
          "ReduceScatterBase_ReqBackward: vectorized_elementwise_kernel<scale>",
          ::testing::StartsWith("LookupFunctionBackward: linearize_index_kernel")));
  // Each rank holds 50 rows of both tables, to which half of the 4 lookups a bag go, for all 32 samples.
  const Program& program = *job.programs[0];
  std::vector<EmbeddingBags> lookups;
  for (const KernelCall& kernel : program.kernels) {
    if (const auto* bags = std::get_if<EmbeddingBags>(&kernel.work)) {
      lookups.push_back(*bags);
    }
  }
  ASSERT_EQ(lookups.size(), 2U);
  const EmbeddingTable half{.rows = 50, .dimension = 16, .pooling_factor = 2, .reuse_factor = 0};
  EXPECT_EQ(lookups[0].batch, 32);
  EXPECT_THAT(lookups[0].tables, ElementsAre(half, half));
  EXPECT_EQ(lookups[1].direction, Direction::Backward);
}

/// Four ranks of 16 samples; a whole table with 3 lookups a bag on rank 1, one with 8 cut by rows, indices
/// of 8 bytes. Sizes: 3 int64 for each rank and group. Lengths: 16 int32 to whom holds the table. Values: 16
/// x 3 x 8 to rank 1; of the other table each rank gets a quarter, 16 x 8 / 4 x 8.
TEST(InputDistribution, WhatItSends) {
  PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 16, .pooling_factor = 3},
                                              {.rows = {400}, .dimension = 16, .pooling_factor = 8}}),
                         .plan = {planned({0}, Way::TableWise, {1}), planned({1}, Way::RowWise)},
                         .input_distribution = true};
  const auto first = [](std::vector<std::string> lines, std::size_t count) {
    lines.resize(count);
    return lines;
  };
  EXPECT_THAT(
      first(exchanges_in_words(planned_job.job(), 0), 6),
      ElementsAre("all_to_all world 96", "all_to_all world 96", "all_to_all world 64 [0, 64, 0, 0]",
                  "all_to_all world 384 [0, 384, 0, 0]", "all_to_all world 256", "all_to_all world 1024"));
  EXPECT_NO_THROW(check(planned_job.job()));
  planned_job.pipeline = InputPipeline::SparseDist;  // one for the sizes of both, in the order of the step
  EXPECT_THAT(
      exchanges_in_words(planned_job.job(), 0),
      ElementsAre("all_to_all world 192", "all_to_all world 0 [0, 0, 0, 0]", "reduce_scatter world 4096",
                  "all_to_all world 64 [0, 64, 0, 0]", "all_to_all world 384 [0, 384, 0, 0]",
                  "all_to_all world 256", "all_to_all world 1024", "all_gather world 4096",
                  "all_to_all world 1024 [0, 1024, 0, 0]"));
  EXPECT_NO_THROW(check(planned_job.job()));
}

}  // namespace
}  // namespace lockstep
