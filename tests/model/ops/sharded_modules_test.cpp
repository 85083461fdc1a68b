/// @file
/// ZeRO and FSDP round Hugging Face's GPT-2, BERT and OPT: who sends what, keeps what and updates what.

#include <gtest/gtest.h>

#include "ops/workload/parallel/module_hooks.hpp"
#include "ops/workload/transformer.hpp"
#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLayers = 4, kHidden = 256;
constexpr int kRanks = 4;

TransformerSpec gpt2() {
  TransformerSpec spec;
  spec.layers = kLayers;
  spec.hidden = kHidden;
  spec.heads = 4;
  spec.vocabulary = 1000;
  spec.positions = spec.sequence = 128;
  return spec;
}

double parameters(const TransformerSpec& spec) {
  const std::vector<std::int64_t> all = spec.parameters();
  return static_cast<double>(std::accumulate(all.begin(), all.end(), std::int64_t{0}));
}

struct Of {
  int micro_batches = 1;
  MixedPrecision mixed = MixedPrecision::MasterWeights;
  Precision precision = Precision::BF16;
};

Job sharded(TransformerPlanSpec plan, const TransformerSpec& spec = gpt2(), const Of& of = {}) {
  std::vector<VertexId> gpus(kRanks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(kRanks, Bytes{80e9});
  plan.fp32_gradients = false;
  TrainingSetup setup;
  setup.global_batch = std::int64_t{2} * kRanks * of.micro_batches;
  setup.gradient_accumulation = of.micro_batches;
  setup.precision = of.precision;
  setup.mixed_precision = of.mixed;
  setup.host = plain_host();
  setup.parallelism.transformer = plan;
  setup.gpus = gpus;
  setup.gpu_memory = memory;
  Job job = transformer_job(spec, setup);
  check(job);
  return job;
}

TransformerPlanSpec zero3(std::optional<Zero3Implementation> copies = std::nullopt) {
  return {.sharding = Sharding::Zero3, .zero3_implementation = copies};
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

/// zero1 and zero2 reduce-scatter 16-bit gradients and gather parameters once, in place of all-reduces.
TEST(ShardedModules, SendsWhatZeroSends) {
  const double size = 2 * parameters(gpt2());
  for (const Sharding sharding : {Sharding::Zero1, Sharding::Zero2}) {
    const Job job = sharded({.sharding = sharding});
    EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::ReduceScatter), size);
    EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllGather), size);
    EXPECT_EQ(launches(job, "fused_adamw"), 1U);
  }
}

/// Layers are gathered for forward and again for backward, tables and the like once; zero2 reduces in each
/// micro-batch, zero1 in the last.
TEST(ShardedModules, GathersLayersTwice) {
  const TransformerSpec spec = gpt2();
  const double layers = 2.0 * kLayers * (12 * kHidden * kHidden + 13 * kHidden);
  for (const Zero3Implementation copies :
       {Zero3Implementation::DeepSpeed, Zero3Implementation::Fsdp, Zero3Implementation::Fsdp2}) {
    const Job job = sharded(zero3(copies));
    EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllGather), 2 * parameters(spec) + layers);
    EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::ReduceScatter), 2 * parameters(spec));
  }
  const auto reduced = [&](Sharding sharding) {
    return bytes_communicated(sharded({.sharding = sharding}, spec, {.micro_batches = 2}),
                              CollectiveKind::ReduceScatter);
  };
  EXPECT_DOUBLE_EQ(reduced(Sharding::Zero2), 2 * reduced(Sharding::Zero1));
}

/// Sixteen bytes a parameter: parameter and gradient in 16 bits, master weight and moments in FP32.
TEST(ShardedModules, KeepsItsShare) {
  const double all = parameters(gpt2());
  const auto memory = [](const Job& job, MemoryUse use) { return job.memory.front()[use]; };
  const Job first = sharded({.sharding = Sharding::Zero1}), second = sharded({.sharding = Sharding::Zero2});
  EXPECT_DOUBLE_EQ(memory(first, MemoryUse::Optimizer), 12 * all / kRanks);
  EXPECT_DOUBLE_EQ(memory(first, MemoryUse::Parameters), 2 * all);
  EXPECT_DOUBLE_EQ(memory(first, MemoryUse::Gradients), 2 * all);
  EXPECT_DOUBLE_EQ(memory(second, MemoryUse::Gradients), 2 * all / kRanks);
  EXPECT_LT(memory(sharded(zero3()), MemoryUse::Parameters), 2 * all);
}

/// DeepSpeed updates one flat tensor in a fused kernel and calls hooks round 13 modules of a layer; FSDP has
/// torch.optim's AdamW on each parameter's share.
TEST(ShardedModules, AreUpdatedByTheFrameworkThatSharesThem) {
  const Job deepspeed = sharded(zero3()), fsdp = sharded(zero3(Zero3Implementation::Fsdp2));
  EXPECT_EQ(launches(deepspeed, "fused_adamw"), 1U);
  EXPECT_EQ(launches(fsdp, "fused_adamw"), 0U);
  EXPECT_GT(launches(fsdp, "multi_tensor_apply_kernel<addcdiv>"), 0U);
  const double hook = ModuleHooks::kHook * plain_host().between_operators.in_base_units();
  EXPECT_NEAR(host_seconds(deepspeed, kModuleHooks), kLayers * 13 * 4 * hook, 1e-9);
  EXPECT_EQ(host_seconds(fsdp, kModuleHooks), 0);
}

/// Plain modules of PyTorch are sharded by its own fully_shard, whose copies a user need not name.
TEST(ShardedModules, OfPyTorchAreFullySharded) {
  TransformerSpec plain = gpt2();
  plain.implementation = Implementation::PyTorch;
  EXPECT_EQ(launches(sharded(zero3(), plain), "fused_adamw"), 0U);
  EXPECT_EQ(launches(sharded(zero3(), plain), "split_with_sizes_copy"),
            launches(sharded(zero3(Zero3Implementation::Fsdp2), plain), "split_with_sizes_copy"));
  EXPECT_GT(launches(sharded(zero3(), plain), "split_with_sizes_copy"), 0U);
}

TEST(ShardedModules, SharesAmongNeighbours) {
  TransformerPlanSpec plan = zero3(Zero3Implementation::Fsdp2);
  plan.shard_group = 2;
  const Job job = sharded(plan);
  EXPECT_EQ(job.groups.front().ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(bytes_communicated(job, CollectiveKind::AllReduce), 2 * parameters(gpt2()) / 2);
}

TEST(ShardedModules, WorksForAllThree) {
  TransformerSpec bert = gpt2();
  bert.family = TransformerFamily::Bert;
  bert.token_types = 2;
  TransformerSpec opt = gpt2();
  opt.family = TransformerFamily::Opt;
  for (const TransformerSpec& spec : {bert, opt}) {
    EXPECT_DOUBLE_EQ(bytes_communicated(sharded(zero3(), spec), CollectiveKind::ReduceScatter),
                     2 * parameters(spec));
  }
}

/// 16 bits beside FP32 masters, or FP32; not autocast, and no host memory.
TEST(ShardedModules, RefusesWhatIsNotWritten) {
  EXPECT_THROW((void)sharded(zero3(), gpt2(), {.mixed = MixedPrecision::Autocast}), std::invalid_argument);
  EXPECT_THROW((void)sharded(zero3(), gpt2(), {.mixed = MixedPrecision::Pure}), std::invalid_argument);
  EXPECT_NO_THROW((void)sharded(zero3(Zero3Implementation::Fsdp), gpt2(), {.mixed = MixedPrecision::Pure}));
  EXPECT_NO_THROW(
      (void)sharded(zero3(), gpt2(), {.mixed = MixedPrecision::Autocast, .precision = Precision::FP32}));
  TransformerPlanSpec offload = zero3();
  offload.offload = Offload::Optimizer;
  EXPECT_THROW((void)sharded(offload), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
