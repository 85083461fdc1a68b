/// @file
/// Adapters beside frozen products, against what Hu et al. (arXiv 2106.09685, section 4) and the code of
/// NeMo, PEFT and Transformer Engine add up to.

#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr double kTokens = 4096, kHidden = 2048, kFeedForward = 4096, kVocabulary = 50304, kLayers = 4,
                 kRank = 16;
constexpr double kQkv = kHidden * 3 * kHidden, kProjection = kHidden * kHidden,
                 kFeedForwards = 3 * kHidden * kFeedForward;
constexpr double kLayer = kQkv + kProjection + kFeedForwards, kHead = kVocabulary * kHidden;
constexpr double kAdapter = kRank * (kHidden + 3 * kHidden);  // of linear_qkv

TransformerSpec llama(Implementation implementation = Implementation::Megatron) {
  TransformerSpec spec = small_llama(implementation);
  spec.tied = false;
  return spec;
}

TransformerSpec with_lora(std::vector<LoraModule> modules,
                          Implementation implementation = Implementation::Megatron) {
  TransformerSpec spec = llama(implementation);
  spec.lora = LoraSpec{.rank = 16, .target_modules = std::move(modules)};
  return spec;
}

/// Frozen weights have no gradient: four FLOPs for each and every token, six for each of the adapters'.
TEST(Lora, LeavesOutGradientsOfFrozenWeights) {
  const Job job = job_of(with_lora({LoraModule::LinearQkv}), {}, {});
  EXPECT_DOUBLE_EQ(flops(job), kTokens * (4 * (kLayers * kLayer + kHead) + 6 * kLayers * kAdapter));
}

TEST(Lora, AdaptsEachModule) {
  const std::vector<LoraModule> all{LoraModule::LinearQkv, LoraModule::LinearProj, LoraModule::LinearFc1,
                                    LoraModule::LinearFc2};
  const double adapters = kAdapter + kRank * (kHidden + kHidden) + kRank * (kHidden + 2 * kFeedForward) +
                          kRank * (kFeedForward + kHidden);
  EXPECT_DOUBLE_EQ(flops(job_of(with_lora(all), {}, {})),
                   kTokens * (4 * (kLayers * kLayer + kHead) + 6 * kLayers * adapters));
}

TEST(Lora, ReducesAndOptimizesAdaptersAlone) {
  const Job job = job_of(with_lora({LoraModule::LinearQkv}), {}, {.ranks = 2, .batch = 2});
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllReduce), 4 * kLayers * kAdapter);
  const MemoryBreakdown& memory = job.memory.front();
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Gradients], 4 * kLayers * kAdapter);
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Optimizer], 12 * kLayers * kAdapter);
  const double norms = (2 * kLayers + 1) * kHidden;
  EXPECT_DOUBLE_EQ(memory[MemoryUse::Parameters], 2 * (kLayers * (kLayer + kAdapter) + 2 * kHead + norms));
}

/// Inputs of two norms, what the adapter reads (the norm's result), queries, keys and values, the context,
/// gate and up; not what the other products read.
TEST(Lora, KeepsNoInputsOfFrozenProducts) {
  const auto kept = [](std::int64_t layers) {
    TransformerSpec spec = with_lora({LoraModule::LinearQkv});
    spec.layers = layers;
    return job_of(spec, {}, {}).memory.front()[MemoryUse::Activations];
  };
  EXPECT_DOUBLE_EQ(kept(5) - kept(4),
                   2 * kTokens * (2 * kHidden + kHidden + 3 * kHidden + kHidden + 2 * kFeedForward));
}

double activations(const TransformerSpec& spec, Precision precision = Precision::BF16) {
  return job_of(spec, {}, {.precision = precision}).memory.front()[MemoryUse::Activations];
}

/// Dropped out, A reads a tensor of its own, and the mask is kept: three bytes for each element of
/// attention's output and the activation's, which nothing else keeps or only attention does, one for the
/// norms'.
TEST(Lora, KeepsMasks) {
  TransformerSpec spec = with_lora({LoraModule::LinearQkv, LoraModule::LinearProj, LoraModule::LinearFc2});
  const double without = activations(spec);
  spec.lora->dropout = true;
  EXPECT_DOUBLE_EQ(activations(spec) - without, kLayers * kTokens * (kHidden + 3 * kHidden + kFeedForward));
}

/// Flash attention keeps its output in 16 bits, which is what an adapter reads.
TEST(Lora, SharesAttentionsOutput) {
  const TransformerSpec spec = with_lora({LoraModule::LinearProj});
  EXPECT_DOUBLE_EQ(activations(spec), activations(spec, Precision::FP8));
}

/// PEFT's adapters are FP32 beside a model in 16 bits, without masters: 4 bytes, and 8 of moments.
TEST(Lora, KeepsPeftAdaptersInSinglePrecision) {
  const Job job = job_of(with_lora({LoraModule::QProj}, Implementation::HuggingFaceLlama), {}, {});
  const double adapters = kLayers * kRank * (kHidden + kHidden), norms = (2 * kLayers + 1) * kHidden;
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Optimizer], 8 * adapters);
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Parameters],
                   4 * adapters + 2 * (kLayers * kLayer + 2 * kHead + norms));
}

/// Megatron-Core's adapter of a column-parallel product: A's columns are gathered forward; backward sums what
/// reaches them and the input's gradient, beside the product's own. Inputs are not gathered again.
TEST(Lora, CommunicatesWhatTensorParallelRanksShare) {
  const TransformerPlanSpec plan{.tensor = 2, .sequence_parallel = true};
  const auto all = [&](const TransformerSpec& spec, CollectiveKind kind) {
    return collectives_of(job_of(spec, plan, {.ranks = 2}), 0, kind);
  };
  const auto bytes = [&](const TransformerSpec& spec, CollectiveKind kind) {
    return bytes_communicated(job_of(spec, plan, {.ranks = 2}), kind);
  };
  TransformerSpec frozen = with_lora({LoraModule::LinearQkv});
  const double row = 2 * kTokens * kHidden, narrow = 2 * kTokens * kRank;
  // Per layer and head, two gathers forward; the head's and the embedding's gradients' gathers go.
  const double of_layers =
      kLayers * (2 * row + 2 * row) + row;  // forward, and gradients of row-parallel results
  EXPECT_DOUBLE_EQ(bytes(frozen, CollectiveKind::AllGather), of_layers + kLayers * narrow);
  EXPECT_DOUBLE_EQ(bytes(frozen, CollectiveKind::ReduceScatter) - kLayers * row,
                   bytes(llama(), CollectiveKind::ReduceScatter));
  EXPECT_EQ(all(frozen, CollectiveKind::AllReduce).size() - all(llama(), CollectiveKind::AllReduce).size(),
            static_cast<std::size_t>(kLayers));
}

/// Weights are cast to FP8 once for all; inputs without a transpose, which a weight's gradient would read.
TEST(Lora, CastsNoFrozenWeights) {
  const Job job = job_of(with_lora({LoraModule::LinearQkv}), {}, {.precision = Precision::FP8});
  EXPECT_EQ(launches_of(job, "cast_transpose").size(), kLayers * 4);  // gradients of results
  EXPECT_EQ(launches_of(job, "cast_to_fp8").size(), kLayers * 4);
  EXPECT_NEAR(flops(job, DataType::FP8) / (4 * kTokens * kLayers * kLayer), 1, 1e-12);
}

/// FSDP gathers what is frozen, too, and reduces the adapters' gradients.
TEST(Lora, IsShared) {
  const Job job = job_of(with_lora({LoraModule::QProj, LoraModule::VProj}, Implementation::HuggingFaceLlama),
                         {.sharding = Sharding::Zero3, .zero3_implementation = Zero3Implementation::Fsdp2},
                         {.ranks = 2, .batch = 2});
  const double adapters = 2 * kRank * (kHidden + kHidden), norms = 2 * kHidden;
  const double layers = kLayers * (kLayer + adapters + norms);
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllGather), 2 * (2 * layers + 2 * kHead));
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::ReduceScatter), 4 * kLayers * adapters);
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Optimizer], 12 * kLayers * adapters / 2);
}

/// PEFT keeps adapters in FP32: what they read is cast to it and, by autocast, back; likewise backward.
TEST(Lora, CastsWhatPeftAdaptersRead) {
  const auto casts = [](std::vector<LoraModule> modules) {
    const Job job = job_of(with_lora(std::move(modules), Implementation::HuggingFaceLlama), {}, {});
    return launches_of(job, "<cast>").size();
  };
  EXPECT_EQ(casts({LoraModule::QProj, LoraModule::VProj}) - casts({LoraModule::QProj}), kLayers * 4);
}

/// FSDP's mixed precision gathers adapters in 16 bits, DeepSpeed makes the whole model so, and before PEFT
/// 0.11 adapters had the type of what they stand beside.
TEST(Lora, CastsNothingForAdaptersInSixteenBits) {
  const auto casts = [](std::vector<LoraModule> modules, const TransformerPlanSpec& plan,
                        MixedPrecision mixed) {
    const Job job = job_of(with_lora(std::move(modules), Implementation::HuggingFaceLlama), plan,
                           {.ranks = 2, .batch = 2, .mixed = mixed});
    return launches_of(job, "<cast>").size();
  };
  const TransformerPlanSpec deepspeed{.sharding = Sharding::Zero3},
      fsdp{.sharding = Sharding::Zero3, .zero3_implementation = Zero3Implementation::Fsdp2};
  for (const auto& [plan, mixed] :
       {std::pair{deepspeed, MixedPrecision::Autocast}, std::pair{fsdp, MixedPrecision::Autocast},
        std::pair{TransformerPlanSpec{}, MixedPrecision::Pure}}) {
    EXPECT_EQ(casts({LoraModule::QProj, LoraModule::VProj}, plan, mixed),
              casts({LoraModule::QProj}, plan, mixed));
  }
}

/// Bytes of an adapter's optimizer states: DeepSpeed has FP32 masters, PEFT FP32 adapters, or all is BF16.
TEST(Lora, KeepsStatesByTheTypeOfAdapters) {
  const auto states = [](const TransformerPlanSpec& plan, MixedPrecision mixed) {
    const Job job =
        job_of(with_lora({LoraModule::QProj}, Implementation::HuggingFaceLlama), plan, {.mixed = mixed});
    return job.memory.front()[MemoryUse::Optimizer] / (kLayers * kRank * (kHidden + kHidden));
  };
  EXPECT_DOUBLE_EQ(states({}, MixedPrecision::Autocast), 8);
  EXPECT_DOUBLE_EQ(states({.sharding = Sharding::Zero2}, MixedPrecision::Autocast), 12);
  EXPECT_DOUBLE_EQ(states({}, MixedPrecision::Pure), 4);
}

/// A stage that trains nothing takes part in the norm of all gradients.
TEST(Lora, HasStagesWithoutAdapters) {
  const Job job = job_of(with_lora({LoraModule::LinearQkv}), {.pipeline = 2, .stage_layers = {4, 0}},
                         {.ranks = 2, .batch = 2, .micro_batches = 2, .clip = true});
  EXPECT_EQ(collectives_of(job, 0, CollectiveKind::AllReduce).size(),
            collectives_of(job, 1, CollectiveKind::AllReduce).size());
}

/// In the type of the adapter: PEFT's in FP32, Megatron-Core's in that of products.
TEST(Lora, DropsOutWhatAdaptersRead) {
  for (const auto& [module, implementation, type] :
       {std::tuple{LoraModule::QProj, Implementation::HuggingFaceLlama, DataType::FP32},
        std::tuple{LoraModule::LinearQkv, Implementation::Megatron, DataType::BF16}}) {
    TransformerSpec spec = with_lora({module}, implementation);
    spec.lora->dropout = true;
    const std::vector<KernelCall> calls = launches_of(job_of(spec, {}, {}), "fused_dropout");
    ASSERT_EQ(calls.size(), kLayers);
    EXPECT_EQ(calls.front().type, type);
  }
}

TEST(Packed, AttendsWithinEachSample) {
  TransformerSpec spec = llama();
  spec.packed = 16;
  const std::vector<KernelCall> calls = launches_of(job_of(spec, {}, {.batch = 2}), "flash_fwd_kernel");
  ASSERT_EQ(calls.size(), kLayers);
  const auto& attention = std::get<FlashAttention>(calls.front().work);
  EXPECT_EQ(attention.batch, 2 * 16);
  EXPECT_EQ(attention.queries, 4096 / 16);
  EXPECT_EQ(attention.keys, 4096 / 16);
}

}  // namespace
}  // namespace lockstep
