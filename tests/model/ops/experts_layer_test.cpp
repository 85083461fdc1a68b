/// @file
/// Mixtures of experts by Megatron-LM's router, dispatcher and grouped products: what is launched, waited for
/// and kept.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kExperts = 16;

/// Two layers; each rank has a sequence of 1,024 tokens, which go to two of sixteen experts each.
TransformerSpec mixture(bool dropless) {
  TransformerSpec spec = gpt3();
  spec.layers = 2;
  spec.hidden = 512;
  spec.heads = 8;
  spec.sequence = spec.positions = 1024;
  spec.dropout = spec.bias = false;
  spec.experts = ExpertsSpec{.count = kExperts, .per_token = 2, .feed_forward = 1024, .dropless = dropless};
  return spec;
}

Job job_of_mixture(const TransformerSpec& model, const TransformerPlanSpec& plan, int ranks = 4) {
  return job_of(model, plan, {.ranks = ranks, .batch = ranks});
}

std::ptrdiff_t host_waits(const Job& job) {
  std::ptrdiff_t waits = 0;
  for (const Program::Thread& thread : job.programs[job.ranks.front().program]->threads) {
    waits += std::ranges::count(thread.instructions, Opcode::WaitStream, &Instruction::op);
  }
  return waits;
}

std::map<std::string, int> operators_with_launches(const Job& job) {
  std::map<std::string, int> count;
  for (const ListedOperator& each : operators_of(job)) {
    ++count[each.name];
  }
  return count;
}

/// The host waits once a layer for the numbers of tokens, forward alone: backward uses them again. Of padded
/// experts it knows them.
TEST(ExpertsLayer, WaitsForTheCountsOfEachLayer) {
  const std::ptrdiff_t others = host_waits(job_of_mixture(mixture(false), {.expert = 4}));
  EXPECT_EQ(host_waits(job_of_mixture(mixture(true), {.expert = 4})) - others, 2);
  EXPECT_EQ(
      host_waits(job_of_mixture(mixture(true), {}, 1)) - host_waits(job_of_mixture(mixture(false), {}, 1)),
      2);
}

/// Uneven loads are not known to the host either.
TEST(ExpertsLayer, WaitsForUnevenLoads) {
  TransformerSpec uneven = mixture(false);
  uneven.experts->imbalance = 2;
  EXPECT_EQ(host_waits(job_of_mixture(uneven, {.expert = 4})),
            host_waits(job_of_mixture(mixture(true), {.expert = 4})));
}

/// The host waits before it copies tokens for their experts where uneven loads lose what is beyond the
/// capacity. Else it waits behind the copies, before the exchange.
TEST(ExpertsLayer, WaitsBeforeCopiesWhereTokensAreLost) {
  const auto waits_before = [](const TransformerSpec& model, std::string_view name) {
    const Job job = job_of_mixture(model, {.expert = 4});
    const Program& program = *job.programs[job.ranks.front().program];
    for (const Instruction& instruction : program.threads.front().instructions) {
      if (instruction.op == Opcode::WaitStream) {
        return true;
      }
      if (instruction.op == Opcode::RangeBegin && program.names[instruction.operand] == name) {
        return false;
      }
    }
    return false;
  };
  TransformerSpec keeps = mixture(false), loses = mixture(false);
  keeps.experts->imbalance = loses.experts->imbalance = 2;
  loses.experts->capacity = 1.25;
  EXPECT_FALSE(waits_before(keeps, "permute"));
  EXPECT_TRUE(waits_before(keeps, "all_to_all"));
  EXPECT_TRUE(waits_before(loses, "permute"));
  EXPECT_EQ(operators_with_launches(job_of_mixture(loses, {.expert = 4})).at("aten::logical_and"), 2);
}

/// A checkpoint's first pass has no loss: the softmax over all experts is computed once, the other twice.
TEST(ExpertsLayer, HasNoLossWithinACheckpoint) {
  const auto softmaxes = [](Recompute recompute) {
    return operators_with_launches(job_of_mixture(mixture(true), {.expert = 4, .recompute = recompute}))
        .at("aten::softmax");
  };
  EXPECT_EQ(softmaxes(Recompute::None), 2 * 2);
  EXPECT_EQ(softmaxes(Recompute::Full), 3 * 2);
}

/// Two ranks that share an expert's products have half of its width and twice the tokens: what is between the
/// products is as large as with experts of their own, their input twice as large.
TEST(ExpertsLayer, KeepsWhatItGathers) {
  const auto kept = [](int places, int sharers) {
    return job_of_mixture(mixture(false), {.expert = places, .expert_tensor = sharers})
        .memory.front()[MemoryUse::Activations];
  };
  const double copies = 2.0 * 1024 * 512 * 2;             // of 1,024 tokens, 512 elements of 16 bits
  EXPECT_DOUBLE_EQ(kept(2, 2) - kept(4, 1), 2 * copies);  // of two layers
}

/// Experts without replicas are scaled all the same, by the replicas of dense parameters.
TEST(ExpertsLayer, ScalesGradientsWithoutReplicas) {
  const auto scaled = [](const TransformerPlanSpec& plan) {
    double elements = 0;
    for (const KernelCall& call : launches_of(job_of_mixture(mixture(false), plan), "<scale>")) {
      elements += static_cast<double>(std::get<Pointwise>(call.work).elements);
    }
    return elements;
  };
  const double experts = 2.0 * 2 * 512 * 1024;  // two layers, two products
  EXPECT_NEAR(scaled({.expert = 2}) - scaled({.expert = 4}), experts * (8 - 4), 0.001 * experts);
  EXPECT_GT(scaled({.expert = 4}), experts * 4);
}

/// masked_select waits for how much it selects, before the exchange and behind it.
TEST(ExpertsLayer, WaitsForMasksOfPyTorchsOperators) {
  TransformerSpec unfused = mixture(true);
  unfused.experts->fused_permutation = false;
  EXPECT_EQ(host_waits(job_of_mixture(unfused, {.expert = 4})),
            host_waits(job_of_mixture(mixture(true), {.expert = 4})) + std::ptrdiff_t{2} * 2);
}

/// Four ranks gather 16 numbers of 8 bytes from each, once a layer; with tensor parallelism of two over
/// attention alone the two ranks of a sample sum the tokens that chose each expert for the loss.
TEST(ExpertsLayer, GathersCountsOfAllExperts) {
  const TransformerPlanSpec plan{.tensor = 2, .expert = 4, .expert_tensor = 1, .sequence_parallel = true};
  TransformerSpec model = mixture(true);
  const auto bytes_of = [&](CollectiveKind kind, double size) {
    const std::vector<CollectiveCall> all = collectives_of(job_of_mixture(model, plan), 0, kind);
    return std::ranges::count_if(
        all, [&](const CollectiveCall& call) { return call.size.in_base_units() == size; });
  };
  EXPECT_EQ(bytes_of(CollectiveKind::AllGather, 4 * kExperts * 8), 2);
  EXPECT_EQ(bytes_of(CollectiveKind::AllReduce, kExperts * 8), 2);
  model.experts->auxiliary_loss = false;
  EXPECT_EQ(bytes_of(CollectiveKind::AllReduce, kExperts * 8), 0);
}

/// Each expert's product is a kernel: three passes of two products, eight experts a rank, two layers.
TEST(ExpertsLayer, MultipliesExpertByExpert) {
  const Job job = job_of_mixture(mixture(false), {.expert = 2});
  std::vector<Gemm> products;
  for (const KernelCall& call : launches_of(job, "gemm")) {
    const auto* gemm = std::get_if<Gemm>(&call.work);
    if (gemm != nullptr && gemm->concurrent == 4) {  // Transformer Engine's streams
      products.push_back(*gemm);
    }
  }
  EXPECT_EQ(products.size(), 3U * 2 * 8 * 2);
  EXPECT_TRUE(std::ranges::all_of(products, [](const Gemm& gemm) { return gemm.batch == 1; }));
}

/// One after the other they share nothing, and what they made is put together, as are their inputs'
/// gradients.
TEST(ExpertsLayer, MultipliesOneAfterTheOtherWhenNotGrouped) {
  TransformerSpec apart = mixture(false);
  apart.experts->grouped = false;
  const Job job = job_of_mixture(apart, {.expert = 2});
  EXPECT_TRUE(std::ranges::all_of(launches_of(job, "gemm"), [](const KernelCall& call) {
    const auto* gemm = std::get_if<Gemm>(&call.work);
    return gemm == nullptr || gemm->concurrent == 1;
  }));
  const auto operators = operators_with_launches(job),
             grouped = operators_with_launches(job_of_mixture(mixture(false), {.expert = 2}));
  EXPECT_EQ(operators.at("aten::cat"), 2);
  EXPECT_EQ(operators.at("SplitWithSizesBackward0"), 2);
  EXPECT_FALSE(grouped.contains("aten::cat"));
  EXPECT_EQ(flops(job), flops(job_of_mixture(mixture(false), {.expert = 2})));
}

/// Four products at a time on four streams take as long as a batch of four, each a quarter of it.
TEST(ExpertsLayer, ProductsAtATimeShareWaves) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/h100_80gb.yaml");
  const auto time = [&](const Gemm& gemm) {
    const KernelCall call{"bf16_gemm", DataType::BF16, gemm};
    return model_for(call).predict(call, gpu).duration;
  };
  const Gemm alone{.m = 256, .n = 1024, .k = 2048};
  Gemm four = alone, beside = alone;
  four.batch = 4;
  beside.concurrent = 4;
  EXPECT_DOUBLE_EQ((time(beside) * 4).in_base_units(), time(four).in_base_units());
  EXPECT_LT(time(beside), time(alone));  // 256 x 1024 leaves most SMs idle
}

/// The tokens of a rank's experts are cast together, or, each with a scale of its own, expert by expert:
/// eight experts, inputs and gradients of two products, two layers.
TEST(ExpertsLayer, CastsExpertByExpertWithCurrentScaling) {
  const auto casts = [](Fp8Scaling scaling) {
    Batch run{.ranks = 2, .batch = 2, .precision = Precision::FP8};
    run.framework.fp8_scaling = scaling;
    const Job job = job_of(mixture(false), {.expert = 2}, run);
    std::int64_t count = 0, elements = 0;
    for (const KernelCall& call : launches_of(job, "cast_transpose")) {
      const std::int64_t of_it = std::get<Pointwise>(call.work).elements;
      count += 1;
      elements += of_it;
    }
    return std::pair{count, elements};
  };
  const auto [together, all] = casts(Fp8Scaling::Delayed);
  const auto [each, same] = casts(Fp8Scaling::Current);
  EXPECT_EQ(each - together, (8 - 1) * 2 * 2 * 2);
  EXPECT_EQ(same, all);
}

/// Probabilities, two bytes for each copy of a token, go to the experts and their gradients back; what
/// experts made is not kept for these, which a reduction over what the activation read makes.
TEST(ExpertsLayer, WeighsWhatTheActivationLeaves) {
  TransformerSpec weighted = mixture(true);
  weighted.experts->weighted_activation = true;
  const Job job = job_of_mixture(weighted, {.expert = 4}),
            before = job_of_mixture(mixture(true), {.expert = 4});
  const double copies = 2.0 * 1024;
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllToAll) -
                       bytes_communicated(before, CollectiveKind::AllToAll),
                   2 * 2 * copies * 2);
  EXPECT_DOUBLE_EQ(before.memory.front()[MemoryUse::Activations] - job.memory.front()[MemoryUse::Activations],
                   2 * copies * 512 * 2);
  EXPECT_EQ(launches_of(before, "unpermute_bwd_kernel").size(), 2U);
  EXPECT_TRUE(launches_of(job, "unpermute_bwd_kernel").empty());
  EXPECT_EQ(operators_with_launches(job).at("aten::sum") - operators_with_launches(before).at("aten::sum"),
            2);
}

/// PyTorch's operators pick the probabilities with the copies, not with the sums.
TEST(ExpertsLayer, PicksProbabilitiesWhereTheyAreUsed) {
  TransformerSpec unfused = mixture(true);
  unfused.experts->fused_permutation = false;
  const auto muls = [](const TransformerSpec& model) {
    return operators_with_launches(job_of_mixture(model, {.expert = 4}));
  };
  const auto before = muls(unfused);
  unfused.experts->weighted_activation = true;
  const auto weighted = muls(unfused);
  EXPECT_EQ(weighted.at("aten::masked_select"), before.at("aten::masked_select"));
  EXPECT_EQ(weighted.at("MaskedSelectBackward0"), before.at("MaskedSelectBackward0"));
}

/// Transformer Engine's router launches a kernel where PyTorch's operators launch one each.
TEST(ExpertsLayer, RoutesInOneKernelWhenFused) {
  TransformerSpec fused = mixture(true);
  fused.experts->fused_router = true;
  const auto of_fused = operators_with_launches(job_of_mixture(fused, {.expert = 4}));
  const auto of_operators = operators_with_launches(job_of_mixture(mixture(true), {.expert = 4}));
  EXPECT_EQ(of_fused.at("FusedTopkScoreFunction"), 2);
  EXPECT_FALSE(of_fused.contains("aten::topk"));
  EXPECT_EQ(of_operators.at("aten::topk"), 2);
  EXPECT_EQ(of_operators.at("aten::scatter"), 2 * 2);  // probabilities and the map
}

/// Tokens that want a padded expert most are selected, which dropless ones do not need.
TEST(ExpertsLayer, SelectsTokensForTheRoomOfPaddedExperts) {
  EXPECT_EQ(operators_with_launches(job_of_mixture(mixture(false), {.expert = 4})).at("aten::topk"), 2 * 2);
}

/// A bias of queries, keys and values alone: as many columns more in each layer.
TEST(ExpertsLayer, AddsABiasToQueriesKeysAndValues) {
  TransformerSpec with = small_llama(Implementation::Megatron);
  const TransformerSpec without = with;
  with.qkv_bias = true;
  const auto parameters = [](const TransformerSpec& model) {
    return job_of(model, {}, {}).memory.front()[MemoryUse::Parameters];
  };
  EXPECT_DOUBLE_EQ(parameters(with) - parameters(without), 2.0 * 4 * 3 * 2048);
}

/// Gains of queries and keys in each layer, one of each size of a head.
TEST(ExpertsLayer, NormalisesQueriesAndKeys) {
  TransformerSpec with = small_llama(Implementation::Megatron);
  const TransformerSpec without = with;
  with.qk_norm = true;
  const Job job = job_of(with, {}, {}), plain = job_of(without, {}, {});
  const std::size_t norms = launches_of(job, "rms_norm_fwd_kernel").size();
  EXPECT_EQ(norms, launches_of(plain, "rms_norm_fwd_kernel").size() + std::size_t{2} * 4);
  EXPECT_EQ(launches_of(job, "rms_norm_bwd_kernel").size(), norms);
  const double kept = 4.0 * 4096 * 2 * 2048 * 2;  // queries and keys of 4 layers in 16 bits
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Activations] - plain.memory.front()[MemoryUse::Activations],
                   kept);
}

}  // namespace
}  // namespace lockstep
