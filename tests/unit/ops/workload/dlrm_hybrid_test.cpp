/// @file
/// DLRMs in 16 bits, with joint tables and a fused interaction, and with the bottom MLP on one rank.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/workload/dlrm.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kBatch = 1024;

/// Four features of width 16 and the dense one: 10 products, 26 elements interacted, 32 padded.
DlrmSpec one_hot() {
  DlrmSpec spec;
  spec.bottom_mlp = {4, 8, 16};
  spec.top_mlp = {8, 1};
  spec.tables = {{.rows = {1000, 2000, 4000, 8000, 500, 600, 700, 800}, .dimension = 16}};
  spec.interaction_kernels = InteractionKernels::Fused;
  spec.embedding_kernels = EmbeddingKernels::Joint;
  spec.loss_readback = false;
  return spec;
}

Job job_of(const DlrmSpec& spec, std::size_t ranks, Precision precision) {
  std::vector<VertexId> gpus(ranks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(ranks, 80_GB);
  TrainingSetup setup;
  setup.global_batch = kBatch;
  setup.precision = precision;
  setup.host = plain_host();
  setup.gpus = gpus;
  setup.gpu_memory = memory;
  return dlrm_job(spec, setup);
}

std::vector<std::string> operator_names(const Job& job, std::size_t rank) {
  std::vector<std::string> names;
  for (const ListedOperator& op : operators_of(job, rank)) {
    names.push_back(op.name);
  }
  return names;
}

std::vector<KernelCall> calls_of(const Job& job, std::size_t rank, const std::string& name) {
  std::vector<KernelCall> calls;
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) {
        const KernelCall& call = program.kernels[i.per_rank ? assignment.kernel_slots[i.operand] : i.operand];
        if (call.name == name) {
          calls.push_back(call);
        }
      }
    }
  }
  return calls;
}

Bytes sent(const Job& job, std::size_t rank) {
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Collective) {
        const CollectiveCall& call =
            program.collectives[i.per_rank ? assignment.collective_slots[i.operand] : i.operand];
        if (call.kind == CollectiveKind::AllToAll) {
          return call.size;
        }
      }
    }
  }
  return {};
}

TEST(DlrmHybrid, FusedInteractionIsPaddedToEight) {
  DlrmSpec spec = one_hot();
  EXPECT_EQ(spec.interaction_width(), 56);  // 16 + 9 * 8 / 2 = 52
  spec.interaction_kernels = InteractionKernels::Pytorch;
  EXPECT_EQ(spec.interaction_width(), 52);
}

TEST(DlrmHybrid, FusedInteractionIsOneKernelEachWay) {
  const Job job = job_of(one_hot(), 1, Precision::FP16);
  check(job);
  ASSERT_EQ(calls_of(job, 0, "dot_based_interact_fwd_kernel").size(), 1U);
  ASSERT_EQ(calls_of(job, 0, "dot_based_interact_bwd_kernel").size(), 1U);
  const KernelCall forward = calls_of(job, 0, "dot_based_interact_fwd_kernel").front();
  EXPECT_EQ(forward.type, DataType::FP16);
  const auto& work = std::get<Pointwise>(forward.work);
  EXPECT_EQ(work.elements, kBatch * 9 * 16);
  EXPECT_DOUBLE_EQ(work.writes, 52.0 / (9 * 16));
  EXPECT_THAT(operator_names(job, 0), Not(Contains("aten::bmm")));
}

TEST(DlrmHybrid, JointTablesAreGatheredAndAddedBySgd) {
  const Job alone = job_of(one_hot(), 1, Precision::FP16);
  const KernelCall gather = calls_of(alone, 0, "joint_embedding_gather_kernel").at(0);
  EXPECT_EQ(std::get<EmbeddingBags>(gather.work).pooled, DataType::FP16);
  EXPECT_EQ(calls_of(alone, 0, "index_add_kernel").size(), 1U);
  const Job eight = job_of(one_hot(), 8, Precision::FP16);  // written in FP32 and cast
  EXPECT_FALSE(
      std::get<EmbeddingBags>(calls_of(eight, 0, "joint_embedding_gather_kernel").at(0).work).pooled);
}

TEST(DlrmHybrid, SixteenBitsHalveWhatTravels) {
  const DlrmSpec spec = one_hot();
  EXPECT_EQ(sent(job_of(spec, 8, Precision::FP32), 0), kBatch * 16 * 4.0 * 1_B);
  EXPECT_EQ(sent(job_of(spec, 8, Precision::BF16), 0), kBatch * 16 * 2.0 * 1_B);
}

TEST(DlrmHybrid, Fp16ScalesTheLoss) {
  const auto names = [](Precision precision) { return operator_names(job_of(one_hot(), 1, precision), 0); };
  EXPECT_THAT(names(Precision::FP16), Contains("aten::_amp_foreach_non_finite_check_and_unscale_"));
  EXPECT_THAT(names(Precision::BF16), Not(Contains(HasSubstr("_amp_"))));
}

TEST(DlrmHybrid, AutocastCastsWhatPytorchsInteractionTakes) {
  DlrmSpec spec = one_hot();
  spec.interaction_kernels = InteractionKernels::Pytorch;
  spec.embedding_kernels = EmbeddingKernels::Fbgemm;
  const Job job = job_of(spec, 1, Precision::BF16);
  check(job);
  std::vector<std::size_t> kernels;
  for (const ListedOperator& op : operators_of(job)) {
    if (op.name == "aten::bmm") kernels.push_back(op.kernels.size());
  }
  EXPECT_THAT(kernels, ::testing::ElementsAre(3U));  // both operands, the product
}

TEST(DlrmHybrid, FirstRankHasTheBottomMlpAndTheOthersTheTables) {
  DlrmSpec spec = one_hot();
  spec.bottom_mlp_placement = BottomMlpPlacement::FirstRank;
  const Job job = job_of(spec, 8, Precision::FP32);
  check(job);
  ASSERT_EQ(job.programs.size(), 2U);
  EXPECT_NE(job.ranks[0].program, job.ranks[1].program);
  EXPECT_EQ(job.ranks[1].program, job.ranks[7].program);
  EXPECT_THAT(operator_names(job, 0), Not(Contains("LookupFunction")));
  EXPECT_THAT(operator_names(job, 1), Contains("LookupFunction"));
  // 3 layers of the top MLP everywhere, 2 of the bottom one on the first rank for all samples.
  const auto products = [&](std::size_t rank) {
    std::vector<std::int64_t> rows;
    for (const KernelCall& call : calls_of(job, rank, "sgemm")) {
      rows.push_back(std::get<Gemm>(call.work).m);
    }
    return rows;
  };
  EXPECT_EQ(std::ranges::count(products(0), kBatch), 3);  // two forward, one input's gradient
  EXPECT_EQ(std::ranges::count(products(1), kBatch), 0);
  EXPECT_EQ(sent(job, 0), kBatch * 16 * 4.0 * 1_B);
  Bytes rows;
  for (std::size_t rank = 1; rank < 8; ++rank) {
    rows += sent(job, rank);
  }
  EXPECT_EQ(rows, kBatch * 8 * 16 * 4.0 * 1_B);
}

TEST(DlrmHybrid, MemoryIsThatOfWhatARankHolds) {
  DlrmSpec spec = one_hot();
  spec.bottom_mlp_placement = BottomMlpPlacement::FirstRank;
  const Job job = job_of(spec, 8, Precision::FP32);
  constexpr double kBottom = 4 * 8 + 8 + 8 * 16 + 16, kTop = 56 * 8 + 8 + 8 + 1;
  const auto parameters = [&](std::size_t rank) {
    return job.memory.at(job.ranks[rank].memory)[MemoryUse::Parameters];
  };
  EXPECT_DOUBLE_EQ(parameters(0), 4 * (kBottom + kTop));
  double others = 0;
  for (std::size_t rank = 1; rank < 8; ++rank) {
    others += parameters(rank);
  }
  EXPECT_DOUBLE_EQ(others, 4 * (7 * kTop + 17'600 * 16));
}

TEST(DlrmHybrid, FourRanksShareTheFirstOnes) {
  DlrmSpec spec = one_hot();
  spec.bottom_mlp_placement = BottomMlpPlacement::FirstRank;
  const Job job = job_of(spec, 4, Precision::FP16);
  check(job);
  EXPECT_THAT(operator_names(job, 0), Contains("LookupFunction"));
  EXPECT_EQ(sent(job, 0), kBatch * (2 + 1) * 16 * 2.0 * 1_B);
}

TEST(DlrmHybrid, WhatDoesNotFitTogetherIsRefused) {
  const auto refusal = [](const auto& change) {
    DlrmSpec spec = one_hot();
    change(spec);
    try {
      spec.check();
    } catch (const FieldError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  EXPECT_EQ(refusal([](DlrmSpec&) {}), "accepted");
  EXPECT_THAT(refusal([](DlrmSpec& spec) { spec.tables[0].pooling_factor = 2; }),
              HasSubstr("fbgemm or batched"));
  EXPECT_THAT(refusal([](DlrmSpec& spec) { spec.optimizer = DlrmOptimizer::Adagrad; }),
              HasSubstr("'optimizer: sgd'"));
  EXPECT_THAT(refusal([](DlrmSpec& spec) { spec.interaction = Interaction::Concatenate; }),
              HasSubstr("'interaction: dot'"));
}

}  // namespace
}  // namespace lockstep
