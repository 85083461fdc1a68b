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

/// Additions of a layer of the first rank: half of the additions of two layers more.
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

/// The gradients of three micro-batches are added to a buffer of zeros (4 + 2 + 4 bytes each). Matrices have
/// 12 h^2 elements; their products add those themselves when fused, biases and gains are left.
TEST(WeightGradients, AreAddedByTheirProducts) {
  const Batch run{.batch = 3, .micro_batches = 3};
  const double h = 12288, bytes = 3 * 10;
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

/// Bytes of kernels whose name holds @p what, of a plan's first rank.
double bytes_of(const Job& job, std::string_view what) {
  double bytes = 0;
  const Program& program = *job.programs.front();
  for (const Instruction& instruction : program.threads.front().instructions) {
    if (instruction.op != Opcode::Launch) continue;
    const KernelCall& call = program.kernels[instruction.operand];
    if (call.name.find(what) == std::string::npos) continue;
    if (const auto* fill = std::get_if<Memset>(&call.work)) {
      bytes += fill->size.in_base_units();
    } else if (const auto* pass = std::get_if<Pointwise>(&call.work)) {
      bytes += static_cast<double>(pass->elements) * (pass->reads + pass->writes) *
               size_of(call.type).in_base_units();
    }
  }
  return bytes;
}

/// Megatron-LM multiplies the buffer by one over the ranks that reduce it: 4 bytes read and 4 written for
/// each of the parameters, which the fill before the step has written once.
TEST(GradientBuffer, IsScaledBeforeItIsSummedUnlessTheCollectiveAverages) {
  const Batch run{.ranks = 2, .batch = 4, .micro_batches = 2};
  TransformerSpec model = gpt3();
  model.dropout = false;
  const double all = bytes_of(job_of(model, {}, run), "Memset");
  EXPECT_GT(all, 4 * 4 * 12.0 * 12288 * 12288);
  for (const Sharding sharding : {Sharding::None, Sharding::Zero1}) {
    const Job scaled = job_of(model, {.sharding = sharding}, run);
    const Job averaged = job_of(model, {.sharding = sharding, .average_in_collective = true}, run);
    EXPECT_DOUBLE_EQ(bytes_of(scaled, "<scale>") - bytes_of(averaged, "<scale>"), 2 * all);
  }
  const Job alone = job_of(model, {}, {.batch = 4, .micro_batches = 2});
  const Job alone_averaged = job_of(model, {.average_in_collective = true}, {.batch = 4, .micro_batches = 2});
  EXPECT_DOUBLE_EQ(bytes_of(alone, "<scale>"), bytes_of(alone_averaged, "<scale>"));
}

/// Forward and backward reduce gradients and neither fill their buffer nor update parameters.
TEST(GradientBuffer, IsAddedToWithoutAnOptimizer) {
  const Batch step{.ranks = 4, .batch = 4, .micro_batches = 2, .clip = true};
  Batch passes = step;
  passes.clip = false;
  passes.phases = Phases::ForwardBackward;
  const TransformerPlanSpec plan{.tensor = 2, .sharding = Sharding::Zero1};
  const Job whole = job_of(gpt3(), plan, step), part = job_of(gpt3(), plan, passes);
  EXPECT_DOUBLE_EQ(flops(part), flops(whole));
  EXPECT_EQ(collectives_of(part, 0, CollectiveKind::ReduceScatter).size(),
            collectives_of(whole, 0, CollectiveKind::ReduceScatter).size());
  EXPECT_TRUE(collectives_of(part, 0, CollectiveKind::AllGather).empty());
  EXPECT_EQ(bytes_of(part, "Memset"), 0);
  EXPECT_EQ(part.memory.at(0)[MemoryUse::Optimizer], 0);
  EXPECT_EQ(part.memory.at(0)[MemoryUse::Gradients], whole.memory.at(0)[MemoryUse::Gradients]);
  EXPECT_THROW(job_of(gpt3(), {.sharding = Sharding::Zero1, .offload = Offload::Optimizer}, passes),
               std::invalid_argument);
}

/// Megatron-LM's optimizer of FP16 makes gradients FP32 where they are not, divides them by the loss's scale
/// and tells all ranks of the model of an overflow; BF16 has no scale.
TEST(GradientScale, IsTakenFromFp16Gradients) {
  const TransformerPlanSpec wide{.tensor = 2, .fp32_gradients = true},
      narrow{.tensor = 2, .fp32_gradients = false};
  const Batch fp16{.ranks = 2, .precision = Precision::FP16}, bf16{.ranks = 2};
  const double parameters = bytes_of(job_of(gpt3(), wide, fp16), "<unscale>") / 8;
  EXPECT_GT(parameters, 4 * 12.0 * 12288 * 12288 / 2);
  EXPECT_EQ(bytes_of(job_of(gpt3(), wide, bf16), "<unscale>"), 0);
  EXPECT_DOUBLE_EQ(
      bytes_of(job_of(gpt3(), narrow, fp16), "<cast>") - bytes_of(job_of(gpt3(), wide, fp16), "<cast>"),
      6 * parameters);
  const auto reductions = [](const Job& job) {
    return collectives_of(job, 0, CollectiveKind::AllReduce).size();
  };
  EXPECT_EQ(reductions(job_of(gpt3(), wide, fp16)), reductions(job_of(gpt3(), wide, bf16)) + 1);
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
