/// @file
/// What weights' gradients cost besides their products, and when inputs' gradients are summed.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

struct Additions {
  double bytes = 0;  ///< moved by kernels that add gradients
  int products = 0;  ///< that add themselves
};

/// Of the layers of the first rank: what two layers more add, for each.
Additions additions_of_layer(const TransformerPlanSpec& plan, const Batch& run) {
  const auto count = [&](std::int64_t layers) {
    TransformerSpec model = gpt3();
    model.layers = layers;
    Additions found;
    const Job job = job_of(model, plan, run);
    const Program& program = *job.programs.front();
    for (const Program::Thread& thread : program.threads) {
      for (const Instruction& instruction : thread.instructions) {
        if (instruction.op != Opcode::Launch || instruction.per_rank) continue;
        const KernelCall& call = program.kernels[instruction.operand];
        if (const auto* gemm = std::get_if<Gemm>(&call.work)) {
          found.products += gemm->added_to > 0 ? 1 : 0;
        } else if (const auto* add = std::get_if<Pointwise>(&call.work);
                   add != nullptr && call.type == DataType::FP32 &&
                   call.name.find("<add>") != std::string::npos) {
          found.bytes += static_cast<double>(add->elements) * (add->reads + add->writes) * 4;
        }
      }
    }
    return found;
  };
  const Additions more = count(6), less = count(4);
  return {(more.bytes - less.bytes) / 2, (more.products - less.products) / 2};
}

/// Of three micro-batches the first gradient is converted (2 + 4 bytes), two are added (4 + 2 + 4). Matrices
/// have 12 h^2 elements; their products add those themselves when fused, biases and gains are left.
TEST(WeightGradients, AreAddedByTheirProducts) {
  const Batch run{.batch = 3, .micro_batches = 3};
  const double h = 12288, bytes = 6 + 2 * 10;
  TransformerPlanSpec plan;
  const Additions fused = additions_of_layer(plan, run);
  plan.fuse_weight_gradients = false;
  const Additions apart = additions_of_layer(plan, run);
  EXPECT_NEAR((apart.bytes - fused.bytes) / (12 * h * h * bytes), 1, 1e-12);
  EXPECT_LT(fused.bytes, 20 * h * bytes);
  EXPECT_EQ(fused.products, 3 * 4);
  EXPECT_EQ(apart.products, 0);
}

/// Gradients in 16 bits, shares of them or of parameters, and those that leave for the host are added by
/// kernels.
TEST(WeightGradients, AreAddedByKernelsElsewhere) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 2};
  for (const TransformerPlanSpec& plan :
       {TransformerPlanSpec{.sharding = Sharding::Zero2}, TransformerPlanSpec{.sharding = Sharding::Zero3},
        TransformerPlanSpec{.sharding = Sharding::Zero1, .offload = Offload::Optimizer}}) {
    EXPECT_EQ(additions_of_layer(plan, run).products, 0);
  }
  EXPECT_GT(additions_of_layer({.sharding = Sharding::Zero1}, run).products, 0);
}

/// Products that begin while the sum of an input's gradient is under way, in backward of the first rank.
int products_under_sums(const Job& job) {
  const Program& program = *job.programs.front();
  int under = 0;
  bool is_summing = false;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective) {
        is_summing = true;
      } else if (instruction.op == Opcode::StreamWait) {
        is_summing = false;
      } else if (instruction.op == Opcode::Launch && is_summing) {
        under += std::holds_alternative<Gemm>(program.kernels[instruction.operand].work) ? 1 : 0;
      }
    }
  }
  return under;
}

/// Two column-parallel layers in each of four layers, and the head.
TEST(InputGradients, AreSummedUnderTheWeightsOrBehindThem) {
  const Batch run{.ranks = 4};
  TransformerPlanSpec plan{.tensor = 4};
  const Job under = job_of(gpt3(), plan, run);
  EXPECT_EQ(products_under_sums(under), 2 * 4 + 1);
  plan.overlap_input_gradients = false;
  const Job behind = job_of(gpt3(), plan, run);
  EXPECT_EQ(products_under_sums(behind), 0);
  EXPECT_EQ(collectives_of(behind, 0, CollectiveKind::AllReduce).size(),
            collectives_of(under, 0, CollectiveKind::AllReduce).size());
  EXPECT_DOUBLE_EQ(flops(behind), flops(under));
}

}  // namespace
}  // namespace lockstep
