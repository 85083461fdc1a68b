/// @file
/// HugeCTR's step of a DLRM-DCNv2: kernels and what travels, in closed form for small models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/workload/hugectr/hugectr_dense.hpp"
#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kBatch = 64;

/// Four tables of 8 columns and the dense feature: 40 columns, two cross layers by way of 16.
DlrmSpec dcn() {
  DlrmSpec spec;
  spec.implementation = DlrmImplementation::HugeCtr;
  spec.bottom_mlp = {4, 8};
  spec.top_mlp = {12, 1};
  spec.interaction = Interaction::Cross;
  spec.cross_layers = 2;
  spec.cross_projection = 16;
  spec.optimizer = DlrmOptimizer::Adagrad;
  spec.loss_readback = false;
  spec.tables = {{.rows = {1000, 2000, 4000, 10}, .dimension = 8}};
  return spec;
}

TableShardingSpec on_nodes(std::vector<std::int64_t> tables, std::vector<std::int64_t> nodes) {
  TableShardingSpec entry = planned(std::move(tables), TableSharding::TableRowWise);
  entry.nodes = std::move(nodes);
  return entry;
}

/// Table 0 whole on rank 0, table 1 on ranks 1 and 2 by rows, table 2 whole on rank 3, table 3 on all.
std::vector<TableShardingSpec> mixed_plan() {
  return {planned({0}, TableSharding::TableWise, {0}), planned({1}, TableSharding::RowWise, {1, 2}),
          planned({2}, TableSharding::TableWise, {3}), planned({3}, TableSharding::DataParallel)};
}

Job job_of(const DlrmSpec& spec, std::vector<TableShardingSpec> plan, Precision precision = Precision::FP16,
           const std::vector<int>& nodes = {0, 0, 0, 0}, bool input_distribution = false) {
  std::vector<VertexId> gpus(nodes.size());
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(nodes.size(), Bytes{80e9});
  TrainingSetup setup;
  setup.global_batch = kBatch;
  setup.precision = precision;
  setup.host = plain_host();
  setup.gpus = gpus;
  setup.gpu_memory = memory;
  setup.gpu_nodes = nodes;
  EmbeddingPlan whole;
  whole.tables = std::move(plan);
  setup.parallelism.embedding.plan = Named<EmbeddingPlan>{whole, ""};
  setup.parallelism.embedding.input_distribution = input_distribution;
  return dlrm_job(spec, setup);
}

std::vector<KernelCall> kernels_of(const Job& job, std::size_t rank, const std::string& name) {
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  std::vector<KernelCall> calls;
  for (const Instruction& i : program.threads.front().instructions) {
    if (i.op == Opcode::Launch) {
      const KernelCall& call = program.kernels[i.per_rank ? assignment.kernel_slots[i.operand] : i.operand];
      if (call.name == name) {
        calls.push_back(call);
      }
    }
  }
  return calls;
}

double bytes_of(const CollectiveCall& call) {
  return call.size.in_base_units();
}

/// In the order of the communicator: rows to their samples, keys of the next batch, gradients back, sums.
TEST(HugeCtr, PiecesOfTablesTravelInTheFeaturesType) {
  const Job job = job_of(dcn(), mixed_plan());
  EXPECT_NO_THROW(check(job));
  const std::vector<CollectiveCall> calls = collectives_of(job, 1);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_THAT(std::vector({calls[0].kind, calls[1].kind, calls[2].kind, calls[3].kind}),
              ElementsAre(CollectiveKind::AllToAll, CollectiveKind::AllToAll, CollectiveKind::AllToAll,
                          CollectiveKind::AllReduce));
  EXPECT_EQ(calls[0].type, DataType::FP16);
  EXPECT_DOUBLE_EQ(bytes_of(calls[0]), kBatch * 8 * 2);       // its piece's pooled rows of all samples
  EXPECT_DOUBLE_EQ(bytes_of(calls[2]), kBatch / 4 * 32 * 2);  // gradients of four pieces for its samples
  EXPECT_DOUBLE_EQ(bytes_of(calls[1]), kBatch / 4 * 3 * 4);   // a key for each table but the one on all
}

TEST(HugeCtr, OneAllReduceHasDenseAndReplicatedGradients) {
  const CollectiveCall sum = collectives_of(job_of(dcn(), mixed_plan()), 0).back();
  const double bottom = 5 * 8, cross = 2 * (2 * 40 * 16 + 40), top = 41 * 12 + 13, table = 10 * 8;
  EXPECT_DOUBLE_EQ(bytes_of(sum), (bottom + cross + top + table) * 2);
  EXPECT_DOUBLE_EQ(bytes_of(collectives_of(job_of(dcn(), mixed_plan(), Precision::TF32), 0).back()),
                   (bottom + cross + top + table) * 4);
}

/// Rows of table 1 are cut: pieces of 8 columns come from four ranks, 24 columns are wanted of three tables.
TEST(HugeCtr, PiecesOfOneTableAreAddedUp) {
  const Job job = job_of(dcn(), mixed_plan());
  const auto work = std::get<Pointwise>(kernels_of(job, 0, "network_forward_kernel").at(0).work);
  EXPECT_EQ(work.elements, kBatch / 4 * 24);
  EXPECT_DOUBLE_EQ(work.reads, 32.0 / 24);
  const auto piece = std::get<EmbeddingBags>(kernels_of(job, 1, "multi_to_one_weight_kernel").at(0).work);
  EXPECT_EQ(piece.tables.at(0).rows, 1000);
  EXPECT_DOUBLE_EQ(piece.tables.at(0).pooling_factor, 0.5);
  EXPECT_EQ(piece.pooled, DataType::FP16);
  const auto update =
      std::get<EmbeddingBags>(kernels_of(job, 1, "multi_to_one_reduce_and_update_kernel").at(0).work);
  EXPECT_EQ(update.pooled, DataType::FP16);  // gradients come as they travelled
}

/// Two nodes of two: tables 0 and 1 on node 0, table 2 on both. A node holds pieces of 24 and 8 columns.
TEST(HugeCtr, HierarchicalExchangeStaysOnItsRail) {
  const Job job = job_of(
      dcn(), {planned_on_node({0, 1}, 0), on_nodes({2}, {0, 1}), planned({3}, TableSharding::DataParallel)},
      Precision::FP16, {0, 0, 1, 1});
  EXPECT_NO_THROW(check(job));
  const std::vector<CollectiveCall> calls = collectives_of(job, 0);
  ASSERT_EQ(calls.size(), 6U);
  EXPECT_DOUBLE_EQ(bytes_of(calls[0]), kBatch * 24 * 2);  // within the node
  EXPECT_EQ(calls[0].kind, CollectiveKind::AllToAll);
  EXPECT_DOUBLE_EQ(bytes_of(calls[1]), 2 * (kBatch / 4) * 24 * 2);  // to two nodes
  EXPECT_DOUBLE_EQ(bytes_of(calls[3]), (kBatch / 4) * (24 + 8) * 2);
  EXPECT_EQ(calls[4].kind, CollectiveKind::AllGather);
  EXPECT_DOUBLE_EQ(bytes_of(calls[4]), kBatch * 24 * 2);
}

/// Two products and an element-wise kernel a layer forward, one and four products backward; MLPs of one
/// and two layers: three products forward, five backward, for the features have no gradient.
TEST(HugeCtr, CrossLayersAreProducts) {
  const Job job = job_of(dcn(), mixed_plan());
  EXPECT_EQ(kernels_of(job, 0, "hgemm").size() + kernels_of(job, 0, "gemv").size(), 4U + 8U + 3U + 5U);
  EXPECT_EQ(kernels_of(job, 0, "fused_matrix_elementwise_dot_add").size(), 2U);
  EXPECT_EQ(kernels_of(job, 0, "fused_mul_fma3").size(), 2U);
  EXPECT_EQ(parameters_of(HugeCtrCross{.rows = 1, .width = 40, .projection = 16, .layers = 2}),
            2 * (2 * 40 * 16 + 40));
}

TEST(HugeCtr, ARankMayHoldNoTable) {
  const Job job = job_of(
      dcn(), {planned({0, 1, 2}, TableSharding::TableWise, {0}), planned({3}, TableSharding::DataParallel)});
  EXPECT_NO_THROW(check(job));
  EXPECT_EQ(std::get<Pointwise>(kernels_of(job, 1, "multi_to_one_weight_kernel").at(0).work).elements, 0);
}

TEST(HugeCtr, WhatItDoesNotHaveIsRefused) {
  const auto refusal = [](const auto& make, const char* why) {
    EXPECT_THAT(make, ThrowsMessage<std::exception>(HasSubstr(why)));
  };
  refusal([] { (void)job_of(dcn(), mixed_plan(), Precision::BF16); }, "fp16, not bf16");
  refusal([] { (void)job_of(dcn(), mixed_plan(), Precision::FP16, {0, 0, 0, 0}, true); }, "by itself");
  refusal(
      [] {
        (void)job_of(dcn(), {planned({0, 1, 2}, TableSharding::ColumnWise, {0, 1}),
                             planned({3}, TableSharding::DataParallel)});
      },
      "column_wise is TorchRec's");
  refusal(
      [] {
        (void)job_of(dcn(), {planned_on_node({0}, 0), planned({1, 2, 3}, TableSharding::TableWise, {0})});
      },
      "every one of them table_row_wise");
  refusal([] { (void)job_of(dcn(), {planned({0, 1, 2, 3}, TableSharding::DataParallel)}); }, "every table");
}

TEST(HugeCtr, ItsSpecIsChecked) {
  const auto refusal = [](const auto& change, const char* why) {
    DlrmSpec spec = dcn();
    change(spec);
    EXPECT_THAT([&] { spec.check(); }, ThrowsMessage<std::exception>(HasSubstr(why)));
  };
  EXPECT_NO_THROW(dcn().check());
  refusal([](DlrmSpec& spec) { spec.cross_layers = 0; }, "needs its layers");
  refusal([](DlrmSpec& spec) { spec.cross_projection = 0; }, "needs a projection");
  refusal(
      [](DlrmSpec& spec) {
        spec.interaction = Interaction::Concatenate;
        spec.cross_layers = 0;
        spec.cross_projection = 0;
      },
      "is for 'interaction: cross'");
  refusal([](DlrmSpec& spec) { spec.embedding_kernels = EmbeddingKernels::Batched; }, "kernels of its own");
  refusal([](DlrmSpec& spec) { spec.bottom_mlp_placement = BottomMlpPlacement::FirstRank; }, "every rank");
  refusal([](DlrmSpec& spec) { spec.interaction = Interaction::Concatenate; }, "only 'interaction: cross'");
}

TEST(HugeCtr, TorchRecsPlansDoNotShareRowsSo) {
  DlrmSpec spec = tables_only({{.rows = {1000, 2000, 4000, 10}, .dimension = 8}});
  EXPECT_THROW((void)job_of(spec, mixed_plan(), Precision::FP32), InputError);
  EXPECT_THROW((void)job_of(spec, {on_nodes({0, 1, 2, 3}, {0, 1})}, Precision::FP32, {0, 0, 1, 1}),
               InputError);
}

}  // namespace
}  // namespace lockstep
