/// @file
/// FP8 in linear layers, against what Transformer Engine's recipe adds up to.

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <variant>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

Batch fp8(int ranks = 1, std::int64_t batch = 1) {
  return {.ranks = ranks, .batch = batch, .precision = Precision::FP8};
}

/// FLOPs of Narayanan: 72 B s l h^2 (1 + s / 6h) + 6 B s V h. The linear layers' 72 B s l h^2 are FP8;
/// attention's core and the head stay in BF16.
TEST(Fp8, IsWhatLinearLayersMultiplyIn) {
  const double s = 2048, l = 4, h = 12288, v = 51200;
  const Job job = job_of(gpt3(), {}, fp8());
  EXPECT_NEAR(flops(job, DataType::FP8) / (72 * s * l * h * h), 1, 1e-12);
  EXPECT_NEAR(flops(job, DataType::BF16) / (12 * s * s * l * h + 6 * s * v * h), 1, 1e-12);
}

/// Forward adds up in tensor cores, both products of backward in FP32's registers (_2X_ACC_FPROP = False,
/// _2X_ACC_DGRAD and _2X_ACC_WGRAD = True); in 16 bits tensor cores add in FP32 themselves.
TEST(Fp8, HasSplitAccumulatorsBackward) {
  const auto split = [](const Batch& run) {
    double with = 0, without = 0;
    for (const KernelCall& call : launches_of(job_of(gpt3(), {}, run), "")) {
      const auto* gemm = std::get_if<Gemm>(&call.work);
      if (gemm != nullptr && call.type != DataType::BF16) {
        (gemm->split_accumulator ? with : without) += static_cast<double>(gemm->m * gemm->n * gemm->k);
      } else if (gemm != nullptr) {
        EXPECT_FALSE(gemm->split_accumulator);
      }
    }
    return std::pair{with, without};
  };
  const auto [backward, forward] = split(fp8());
  EXPECT_GT(forward, 0);
  EXPECT_DOUBLE_EQ(backward, 2 * forward);
  EXPECT_EQ(split({.ranks = 1, .batch = 1}).first, 0);
}

/// Korthikanti's 34 + 5as/h bytes per sbh shrink: operands of GEMMs have one byte. These are the results of
/// two norms (2), the context (1), the activation's result (4).
TEST(Fp8, KeepsOperandsInOneByte) {
  TransformerSpec more = gpt3(), less = gpt3();
  more.layers = 5;
  const auto kept = [](const TransformerSpec& model) {
    return job_of(model, {}, fp8()).memory.front()[MemoryUse::Activations];
  };
  const double sbh = 2048.0 * 12288, scores = 5.0 * 96 * 2048 / 12288;
  EXPECT_DOUBLE_EQ(kept(more) - kept(less), sbh * (34 - 7 + scores));
}

/// Beside BF16: the cast weight and its transpose, a byte each for the 12 h^2 elements of a layer's products.
TEST(Fp8, HoldsTwoCopiesOfWeights) {
  const auto parameters = [](Precision precision) {
    Batch run;
    run.precision = precision;
    return job_of(gpt3(), {}, run).memory.front()[MemoryUse::Parameters];
  };
  EXPECT_DOUBLE_EQ(parameters(Precision::FP8) - parameters(Precision::BF16), 2 * 4 * 12.0 * 12288 * 12288);
}

/// In place of 16 bits: the 12 h^2 elements of a layer's products are not kept in BF16, and the optimizer's
/// gather carries a byte of each.
TEST(Fp8, KeepsAndGathersParametersInOneByte) {
  const double elements = 4 * 12.0 * 12288 * 12288;
  const TransformerPlanSpec plan{.sharding = Sharding::Zero1};
  Batch copied = fp8(2, 2), alone = copied;
  alone.framework.fp8_parameters = true;
  const auto gathered = [](const Job& job) {
    double sum = 0;
    for (const CollectiveCall& call : collectives_of(job, 0, CollectiveKind::AllGather)) {
      sum += call.size.in_base_units();
    }
    return sum;
  };
  const Job both = job_of(gpt3(), plan, copied), one = job_of(gpt3(), plan, alone);
  EXPECT_DOUBLE_EQ(both.memory.front()[MemoryUse::Parameters] - one.memory.front()[MemoryUse::Parameters],
                   2 * elements);
  EXPECT_DOUBLE_EQ(gathered(both) - gathered(one), elements);
  alone.precision = Precision::BF16;
  EXPECT_THROW(static_cast<void>(job_of(gpt3(), plan, alone)), std::invalid_argument);
}

/// Gathers carry a byte an element where they carried two (all but the head's input, gathered forward and
/// again backward); sums carry BF16 as before.
TEST(Fp8, HalvesGathersOfSequenceParallelism) {
  const TransformerPlanSpec plan{.tensor = 2, .sequence_parallel = true};
  const auto bytes = [&](Precision precision, CollectiveKind kind) {
    Batch run{.ranks = 2};
    run.precision = precision;
    double sum = 0;
    for (const CollectiveCall& call : collectives_of(job_of(gpt3(), plan, run), 0, kind)) {
      sum += call.size.in_base_units();
    }
    return sum;
  };
  const double token_rows = 2.0 * 2048 * 12288;  // bytes of the residual stream in BF16
  const double of_head = 2 * token_rows, of_embedding = token_rows;
  const double gathers = bytes(Precision::BF16, CollectiveKind::AllGather) - of_head - of_embedding;
  EXPECT_DOUBLE_EQ(bytes(Precision::FP8, CollectiveKind::AllGather) - of_head - of_embedding, gathers / 2);
  EXPECT_EQ(bytes(Precision::FP8, CollectiveKind::ReduceScatter),
            bytes(Precision::BF16, CollectiveKind::ReduceScatter));
}

/// Four products a layer: 3 magnitudes of each forward, 2 backward, 4 bytes each, reduced over the stage.
TEST(Fp8, ReducesMagnitudesOncePerPass) {
  const Job job = job_of(gpt3(), {}, fp8(2, 2));
  double bytes = 0;
  for (const CollectiveCall& call : collectives_of(job, 0, CollectiveKind::AllReduce)) {
    if (job.programs.front()->groups[call.group] == "stage") {
      bytes += call.size.in_base_units();
    }
  }
  EXPECT_DOUBLE_EQ(bytes, 4.0 * 4 * 4 * (3 + 2));
}

/// Scales of their own tensors give each cast a pass before it that finds the greatest magnitude. No scale
/// is reduced over the stage. Four GEMMs of four layers cast input and gradient, and their weights once a
/// layer.
TEST(Fp8, FindsMagnitudesBeforeCastsWithCurrentScaling) {
  Batch run = fp8(2, 2);
  run.framework.fp8_scaling = Fp8Scaling::Current;
  const Job job = job_of(gpt3(), {}, run);
  const std::vector<KernelCall> casts = launches_of(job, "cast_transpose"),
                                found = launches_of(job, "<amax>");
  ASSERT_EQ(casts.size(), 4U * (4 * 2 + 1));
  ASSERT_EQ(found.size(), casts.size());
  for (std::size_t cast = 0; cast < casts.size(); ++cast) {
    EXPECT_EQ(std::get<Pointwise>(found[cast].work).elements, std::get<Pointwise>(casts[cast].work).elements);
  }
  EXPECT_EQ(launches_of(job, "compute_scale_from_amax_kernel").size(), casts.size());
  EXPECT_TRUE(launches_of(job_of(gpt3(), {}, fp8()), "amax_kernel").empty());
  for (const CollectiveCall& call : collectives_of(job, 0, CollectiveKind::AllReduce)) {
    EXPECT_NE(job.programs.front()->groups[call.group], "stage");
  }
}

/// Tensors that sequence-parallel ranks gather have one scale: inputs of queries, keys, values and of the
/// first GEMM of the feed-forward, gradients of what the projection and the second leave.
TEST(Fp8, SharesMagnitudesOfWhatIsGathered) {
  Batch run = fp8(2);
  run.framework.fp8_scaling = Fp8Scaling::Current;
  for (const bool overlap : {false, true}) {
    const Job job = job_of(gpt3(), {.tensor = 2, .sequence_parallel = true, .tensor_overlap = overlap}, run);
    int magnitudes = 0;
    for (const CollectiveCall& call : collectives_of(job, 0, CollectiveKind::AllReduce)) {
      magnitudes += int{call.size == Bytes{4} && job.programs.front()->groups[call.group] == "tp"};
    }
    EXPECT_EQ(magnitudes, 4 * (2 + 2)) << overlap;
  }
}

/// It is a recipe of FP8.
TEST(Fp8, RefusesCurrentScalingOfOtherPrecisions) {
  Batch run;
  run.framework.fp8_scaling = Fp8Scaling::Current;
  EXPECT_THROW(static_cast<void>(job_of(gpt3(), {}, run)), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
