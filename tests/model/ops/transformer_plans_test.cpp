/// @file
/// Plans of transformers against the formulas that were published of them.

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/parallel/framework_rules.hpp"
#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

TransformerSpec shipped(const std::string& name) {
  return *read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + name + ".yaml").transformer;
}

/// Activations of one layer of one rank: what one layer more adds.
double activations_of_layer(const TransformerPlanSpec& plan, int ranks) {
  TransformerSpec more = gpt3(), less = gpt3();
  more.layers = 5;
  const auto bytes = [&](const TransformerSpec& model) {
    return job_of(model, plan, {.ranks = ranks}).memory.front()[MemoryUse::Activations];
  };
  return bytes(more) - bytes(less);
}

/// Korthikanti et al., arXiv 2205.05198, table 2, in bytes, with sbh = 2048 x 1 x 12288 and 5as/h = 80.
TEST(Activations, AreThoseOfKorthikantisTable) {
  const double sbh = 2048.0 * 12288, scores = 5.0 * 96 * 2048 / 12288;
  EXPECT_DOUBLE_EQ(activations_of_layer({}, 1), sbh * (34 + scores));
  EXPECT_DOUBLE_EQ(activations_of_layer({.tensor = 8}, 8), sbh * (10 + 24.0 / 8 + scores / 8));
  EXPECT_DOUBLE_EQ(activations_of_layer({.tensor = 8, .sequence_parallel = true}, 8),
                   sbh * (34 + scores) / 8);
  EXPECT_DOUBLE_EQ(
      activations_of_layer({.tensor = 8, .sequence_parallel = true, .recompute = Recompute::Selective}, 8),
      sbh * 34 / 8);
  EXPECT_DOUBLE_EQ(activations_of_layer({.recompute = Recompute::Full}, 1), sbh * 2);
}

/// Megatron-LM's checkpoint of core attention knows no kernels: flash attention's forward pass runs again.
TEST(TransformerPlans, SelectiveRecomputationRepeatsFlashAttention) {
  TransformerSpec spec = small_llama(Implementation::Megatron);
  const Job once = job_of(spec, {}, {}), again = job_of(spec, {.recompute = Recompute::Selective}, {});
  EXPECT_EQ(launches_of(once, "flash_fwd_kernel").size(), 4U);
  EXPECT_EQ(launches_of(again, "flash_fwd_kernel").size(), 8U);
  EXPECT_EQ(again.memory.front()[MemoryUse::Activations], once.memory.front()[MemoryUse::Activations]);
}

/// One layer's at a time: two bytes for softmax and its result after dropout, one for the mask.
TEST(Activations, ThatAreComputedAgainAreInMemoryMeanwhile) {
  const Job job = job_of(gpt3(), {.recompute = Recompute::Selective}, {});
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Workspace], 5.0 * 96 * 2048 * 2048);
}

/// Bytes that kernels of a name move, by the first rank, per element of @p elements.
double moved(const Job& job, std::string_view name, double elements) {
  double bytes = 0;
  const Program& program = *job.programs.front();
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Launch || instruction.per_rank) continue;
      const KernelCall& call = program.kernels[instruction.operand];
      if (call.name.find(name) == std::string::npos) continue;
      if (const auto* pointwise = std::get_if<Pointwise>(&call.work)) {
        bytes += static_cast<double>(pointwise->elements) * (pointwise->reads + pointwise->writes) *
                 size_of(call.type).in_base_units();
      } else if (const auto* copy = std::get_if<Concat>(&call.work)) {
        bytes += 2 * static_cast<double>(copy->elements) * size_of(call.type).in_base_units();
      }
    }
  }
  return bytes / elements;
}

double collective_bytes(const Job& job, CollectiveKind kind) {
  double bytes = 0;
  const Program& program = *job.programs.front();
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective && !instruction.per_rank &&
          program.collectives[instruction.operand].kind == kind) {
        bytes += program.collectives[instruction.operand].size.in_base_units();
      }
    }
  }
  return bytes;
}

/// Per parameter, reduced in FP32. FSDP: 2 + 2 bytes to put 16-bit gradients together, 4 + 4 to divide them,
/// and the share again. fully_shard: 2 + 2 after each of two gathers (the embedding's is one), gradients
/// change their type anyway.
TEST(FullSharding, CopiesAsPyTorchDoes) {
  TransformerPlanSpec plan{.sharding = Sharding::Zero3};
  const TransformerSpec model = gpt3();
  const Batch run{.ranks = 4, .batch = 4};
  const double layers = 4 * (12.0 * 12288 * 12288), table = 51200.0 * 12288;
  const Job plain = job_of(model, plan, run);
  const double attention = moved(plain, "CatArrayBatchedCopy", layers + table);  // its own gradients
  const double scaled = moved(plain, "<scale>", layers + table);
  plan.zero3_implementation = Zero3Implementation::Fsdp;
  const Job fsdp = job_of(model, plan, run);
  EXPECT_NEAR(moved(fsdp, "CatArrayBatchedCopy", layers + table) - attention, 4, 0.04);
  EXPECT_NEAR(moved(fsdp, "<scale>", layers + table) - scaled, 8 + 8.0 / 4, 0.08);
  EXPECT_EQ(moved(fsdp, "split_with_sizes_copy", 1), 0);
  plan.zero3_implementation = Zero3Implementation::Fsdp2;
  const Job fsdp2 = job_of(model, plan, run);
  EXPECT_NEAR(moved(fsdp2, "split_with_sizes_copy", 2 * layers + table), 4, 0.01);
  EXPECT_EQ(moved(fsdp2, "CatArrayBatchedCopy", layers + table), attention);
}

/// A user who writes `sharding: zero3` alone gets what the model's framework does: torchtitan's is
/// fully_shard, Megatron-LM's Megatron-FSDP, which copies nothing, and DeepSpeed runs Hugging Face's.
TEST(FullSharding, IsTheFrameworksUnlessNamed) {
  const auto split = [](const TransformerSpec& model, std::optional<Zero3Implementation> named) {
    const TransformerPlanSpec plan{.sharding = Sharding::Zero3, .zero3_implementation = named};
    return moved(job_of(model, plan, {.ranks = 2, .batch = 2}), "split_with_sizes_copy", 1);
  };
  const TransformerSpec llama = small_llama(Implementation::TorchTitan);
  EXPECT_GT(split(llama, std::nullopt), 0);
  EXPECT_EQ(split(llama, std::nullopt), split(llama, Zero3Implementation::Fsdp2));
  EXPECT_EQ(split(llama, Zero3Implementation::None), 0);
  EXPECT_EQ(split(gpt3(), std::nullopt), 0);
  EXPECT_GT(split(gpt3(), Zero3Implementation::Fsdp2), 0);
  const auto of = [](Implementation implementation, Offload offload) {
    TransformerSpec model;
    model.implementation = implementation;
    return with_zero3_implementation({.sharding = Sharding::Zero3, .offload = offload}, model)
        .zero3_implementation;
  };
  EXPECT_EQ(of(Implementation::HuggingFaceLlama, Offload::None), Zero3Implementation::DeepSpeed);
  EXPECT_EQ(of(Implementation::HuggingFaceLlama, Offload::Parameters), Zero3Implementation::DeepSpeed);
  EXPECT_EQ(of(Implementation::TorchTitan, Offload::Parameters), Zero3Implementation::None);
  EXPECT_EQ(of(Implementation::Nanotron, Offload::None), Zero3Implementation::None);
  EXPECT_EQ(with_zero3_implementation({.sharding = Sharding::Zero1}, llama).zero3_implementation,
            std::nullopt);
}

/// Per parameter of a share. FSDP: 4 + 2 bytes to cast it before each of two gathers (the embedding's is
/// one), 2 + 4 to make what was reduced in 16 bits FP32, as others do before the update, 4 + 4 + 4 to add it
/// to that of the first micro-batch. Others have 16-bit shares, which the optimizer writes, and add in 16
/// bits.
TEST(FullSharding, FsdpCastsSharesAsTheyAreKeptInFP32) {
  TransformerPlanSpec plan{.sharding = Sharding::Zero3, .fp32_gradients = false};
  const TransformerSpec model = gpt3();
  const Batch once{.ranks = 4, .batch = 4}, twice{.ranks = 4, .batch = 8, .micro_batches = 2};
  const double layers = 4 * (12.0 * 12288 * 12288), table = 51200.0 * 12288, all = layers + table;
  const Job plain = job_of(model, plan, once), plain_twice = job_of(model, plan, twice);
  plan.zero3_implementation = Zero3Implementation::Fsdp;
  const Job fsdp = job_of(model, plan, once), fsdp_twice = job_of(model, plan, twice);
  const double casts = moved(fsdp, "<cast>", all / 4) - moved(plain, "<cast>", all / 4);
  EXPECT_NEAR(casts, 6 * (2 * layers + table) / all, 0.05);
  EXPECT_NEAR(moved(plain, "<copy>", all / 4) - moved(fsdp, "<copy>", all / 4), 6, 0.05);
  const auto of_shares = [&](const Job& job, const Job& of_two) {
    return moved(of_two, "vectorized_elementwise_kernel<add>", all / 4) -
           2 * moved(job, "vectorized_elementwise_kernel<add>", all / 4);
  };
  EXPECT_NEAR(of_shares(fsdp, fsdp_twice), 12, 0.1);
  EXPECT_NEAR(of_shares(plain, plain_twice), 6, 0.1);
}

/// Per parameter in 16 bits: 4 bytes into a bucket, 4 by ranks, 4 to divide; 4 to put together what was
/// gathered (twice, the embedding once). Of the share: 4 flattened and 2 + 8 + 8 for its norm in FP64.
TEST(FullSharding, DeepSpeedCopiesOnStreamsOfItsOwn) {
  TransformerPlanSpec plan{.sharding = Sharding::Zero3, .fp32_gradients = false};
  const TransformerSpec model = gpt3();
  const Batch run{.ranks = 4, .batch = 4};
  const double layers = 4 * (12.0 * 12288 * 12288), table = 51200.0 * 12288, all = layers + table;
  const Job plain = job_of(model, plan, run);
  plan.zero3_implementation = Zero3Implementation::DeepSpeed;
  const Job deepspeed = job_of(model, plan, run);
  const auto more = [&](const char* name) { return moved(deepspeed, name, all) - moved(plain, name, all); };
  EXPECT_NEAR(more("CatArrayBatchedCopy"), 8 + 4 * (2 * layers + table) / all + 1, 0.1);
  EXPECT_NEAR(more("<scale>"), 4 + 2, 0.1);  // and the share's FP32 gradients
  EXPECT_NEAR(more("<l2norm>"), 8.0 / 4, 0.1);
}

std::vector<double> reduce_scatters(const Job& job) {
  std::vector<double> sizes;
  const Program& program = *job.programs.front();
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective && !instruction.per_rank &&
          program.collectives[instruction.operand].kind == CollectiveKind::ReduceScatter) {
        sizes.push_back(program.collectives[instruction.operand].size.in_base_units());
      }
    }
  }
  return sizes;
}

/// Parameters outside the layers are one unit: its gradients are all there when the embedding's are. Else the
/// head's go with those of the last layer.
TEST(FullSharding, FsdpReducesEmbeddingAndHeadTogetherInTheEnd) {
  TransformerSpec model = small_llama(Implementation::TorchTitan);
  model.tied = false;
  const Batch two{.ranks = 2, .batch = 2};
  const auto of = [&](Zero3Implementation copies) {
    return reduce_scatters(job_of(model, {.sharding = Sharding::Zero3, .zero3_implementation = copies}, two));
  };
  const std::vector<double> fsdp = of(Zero3Implementation::Fsdp2), others = of(Zero3Implementation::None);
  const double table = 4.0 * static_cast<double>(model.vocabulary * model.hidden);
  ASSERT_EQ(fsdp.size(), others.size());
  EXPECT_NEAR(fsdp.back(), 2 * table, 0.001 * table);
  EXPECT_NEAR(others.front() - fsdp.front(), table, 0.001 * table);
}

/// SHARD_GRAD_OP under no_sync() gathers once a step.
TEST(FullSharding, FsdpKeepsWhatItGatheredUntilGradientsAreReduced) {
  TransformerPlanSpec plan{.sharding = Sharding::Zero3,
                           .reshard_after_forward = false,
                           .zero3_implementation = Zero3Implementation::Fsdp,
                           .reduce_each_micro_batch = false,
                           .fp32_gradients = false};
  const auto gathered = [&](int micro_batches) {
    return collective_bytes(job_of(gpt3(), plan, {.ranks = 4, .batch = 8, .micro_batches = micro_batches}),
                            CollectiveKind::AllGather);
  };
  EXPECT_EQ(gathered(2), gathered(1));
  plan.zero3_implementation = Zero3Implementation::Fsdp2;  // reshard_after_backward
  EXPECT_EQ(gathered(2), 2 * gathered(1));
}

/// Rajbhandari et al., arXiv 1910.02054, figure 1: 2 + 2 + 12 bytes a parameter with gradients in 16 bits, of
/// which each stage divides one part more by the number of ranks.
TEST(States, AreThoseOfZero) {
  const auto states = [](Sharding sharding) {
    const Job job = job_of(gpt3(), {.sharding = sharding, .fp32_gradients = false}, {.ranks = 4, .batch = 4});
    const MemoryBreakdown& memory = job.memory.front();
    return memory[MemoryUse::Gradients] + memory[MemoryUse::Optimizer];
  };
  const double parameters = states(Sharding::None) / 14;
  EXPECT_NEAR(parameters, 4 * 12.0 * 12288 * 12288 + 51200.0 * 12288, 0.01 * parameters);
  EXPECT_DOUBLE_EQ(states(Sharding::Zero1), parameters * (2 + 12.0 / 4));
  EXPECT_DOUBLE_EQ(states(Sharding::Zero2), parameters * (2 + 12.0) / 4);
}

/// The 16-bit parameters among zero3's 16 bytes in figure 1 are gathered ones with FSDP, and its shares of
/// gradients are FP32. A layer's gradients are on their way, and with FSDP a copy of them.
TEST(States, OfFsdpAreFP32) {
  const auto of = [](Zero3Implementation copies, MemoryUse use) {
    const Job job =
        job_of(gpt3(), {.sharding = Sharding::Zero3, .zero3_implementation = copies, .fp32_gradients = false},
               {.ranks = 4, .batch = 4});
    return job.memory.front()[use];
  };
  const double share = (4 * 12.0 * 12288 * 12288 + 51200.0 * 12288) / 4;
  const double layer = 12.0 * 12288 * 12288;
  EXPECT_NEAR(of(Zero3Implementation::None, MemoryUse::Gradients), 2 * share + 2 * layer, 0.02 * share);
  EXPECT_NEAR(of(Zero3Implementation::Fsdp, MemoryUse::Gradients), 4 * share + 4 * layer, 0.02 * share);
  EXPECT_NEAR(of(Zero3Implementation::Fsdp2, MemoryUse::Gradients), 4 * share + 4 * layer, 0.02 * share);
  const double more = of(Zero3Implementation::None, MemoryUse::Parameters) -
                      of(Zero3Implementation::Fsdp, MemoryUse::Parameters);
  EXPECT_NEAR(more, 2 * share, 0.02 * share);
}

/// ZeRO, section 7.2: parameters are gathered for forward and for backward, gradients reduced once: 1.5 times
/// the volume of data parallelism, whose all-reduce is a reduce-scatter and an all-gather. One layer's
/// parameters are gathered once when backward begins with the layer that forward ended with: not here, where
/// each is dropped.
TEST(FullSharding, MovesOneAndAHalfTimesTheVolume) {
  const TransformerPlanSpec full{.sharding = Sharding::Zero3, .fp32_gradients = false};
  const Job job = job_of(gpt3(), full, {.ranks = 4, .batch = 4});
  const double gathered = collective_bytes(job, CollectiveKind::AllGather);
  const double reduced = collective_bytes(job, CollectiveKind::ReduceScatter);
  const double table = 2.0 * 51200 * 12288;  // the embedding stays from forward to backward
  EXPECT_NEAR(gathered, 2 * (reduced - table) + table, 0.01 * gathered);
}

/// Papers call the models by these sizes.
TEST(Models, HaveAsManyParametersAsTheirNamesSay) {
  const auto billions = [](const std::string& name) {
    const Job job = job_of(shipped(name), {}, {});
    return job.memory.front()[MemoryUse::Parameters] / 2e9;
  };
  EXPECT_NEAR(billions("gpt3_175b"), 175, 0.02 * 175);
  EXPECT_NEAR(billions("gpt_1t"), 1008, 0.01 * 1008);
  EXPECT_NEAR(billions("llama2_7b"), 6.74, 0.01 * 6.74);
  EXPECT_NEAR(billions("llama2_70b"), 69, 0.01 * 69);
  EXPECT_NEAR(billions("llama3_8b"), 8.03, 0.01 * 8.03);
  EXPECT_NEAR(billions("llama3_405b"), 405, 0.01 * 405);
  EXPECT_NEAR(billions("mixtral_8x7b"), 46.7, 0.01 * 46.7);
  EXPECT_NEAR(billions("mixtral_8x22b"), 140.6, 0.01 * 140.6);
  EXPECT_NEAR(billions("deepseek_v3"), 671, 0.01 * 671);
  EXPECT_NEAR(billions("qwen2_5_7b"), 7.62, 0.01 * 7.62);
  EXPECT_NEAR(billions("qwen2_5_72b"), 72.7, 0.01 * 72.7);
  EXPECT_NEAR(billions("qwen3_8b"), 8.19, 0.01 * 8.19);
  EXPECT_NEAR(billions("qwen3_30b_a3b"), 30.5, 0.01 * 30.5);
  EXPECT_NEAR(billions("qwen3_235b_a22b"), 235, 0.01 * 235);
  EXPECT_NEAR(billions("mpt_7b"), 6.65, 0.01 * 6.65);
}

/// DeepSeek-V2-Lite (arXiv 2405.04434, appendix B): 15.7 billion parameters, of which queries have one
/// product.
TEST(Models, MakeQueriesOfTheInputWithoutALatentVector) {
  TransformerSpec lite = shipped("deepseek_v3");
  lite.layers = 27;
  lite.hidden = 2048;
  lite.heads = 16;
  lite.vocabulary = 102400;
  lite.feed_forward = 10944;
  lite.experts->count = 64;
  lite.experts->per_token = 6;
  lite.experts->feed_forward = 1408;
  lite.experts->shared = 2;
  lite.experts->dense_layers = 1;
  lite.latent_attention->query_rank.reset();
  const auto parameters = [](const TransformerSpec& model) {
    return job_of(model, {}, {}).memory.front()[MemoryUse::Parameters] / 2;  // BF16
  };
  const double plain = parameters(lite);
  EXPECT_NEAR(plain, 15.7e9, 0.01 * 15.7e9);
  constexpr double kRank = 512, kHidden = 2048, kQueries = 16 * (128 + 64);
  lite.latent_attention->query_rank = 512;
  EXPECT_DOUBLE_EQ(parameters(lite) - plain,
                   27 * (kHidden * kRank + kRank + kRank * kQueries - kHidden * kQueries));
}

/// Narayanan et al., arXiv 2104.04473, equation 3: 96 B s l h^2 (1 + s / 6h + V / 16 l h) with activations
/// recomputed, of which a quarter is that and the head has none: 72 and 6 B s V h without.
TEST(Arithmetic, IsTheSameInEveryPlan) {
  const TransformerSpec model = gpt3();
  const double b = 16, s = 2048, l = 4, h = 12288, v = 51200;
  const double expected = 72 * b * s * l * h * h * (1 + s / (6 * h)) + 6 * b * s * v * h;
  const Batch run{.ranks = 16, .batch = 16, .micro_batches = 4};
  EXPECT_NEAR(flops(job_of(model, {.tensor = 4}, run)) / expected, 1, 1e-12);
  EXPECT_NEAR(flops(job_of(model, {.tensor = 2, .pipeline = 2, .sequence_parallel = true}, run)) / expected,
              1, 1e-12);
  EXPECT_NEAR(
      flops(job_of(model, {.tensor = 4, .pipeline = 4, .schedule = PipelineSchedule::ZeroBubble}, run)) /
          expected,
      1, 1e-12);
  const double again = 24 * b * s * l * h * h * (1 + s / (6 * h));
  EXPECT_NEAR(flops(job_of(model, {.tensor = 4, .recompute = Recompute::Full}, run)) / (expected + again), 1,
              1e-12);
}

/// An early stop leaves out the product from 4h to h: a third of the 24 b s h^2 that a layer multiplies
/// outside of attention's core. Activations are kept as without it.
TEST(Recomputation, MayStopBeforeTheLastProduct) {
  TransformerPlanSpec plan{.tensor = 4, .recompute = Recompute::Full};
  const Batch run{.ranks = 4, .batch = 4, .micro_batches = 4};
  const Job whole = job_of(gpt3(), plan, run);
  plan.recompute_early_stop = true;
  const Job stopped = job_of(gpt3(), plan, run);
  const double last = 8 * 4 * 2048.0 * 4 * 12288 * 12288;  // 4 samples, 4 layers
  EXPECT_NEAR((flops(whole) - flops(stopped)) / last, 1, 1e-12);
  EXPECT_EQ(whole.memory.front().total(), stopped.memory.front().total());
}

/// Four stages of one layer each: all compute their forward pass again, or three of them (the quarter of
/// equation 3 above). The last one then keeps 34 + 5as/h bytes per sbh instead of the 2 of its input.
TEST(Recomputation, MaySpareTheLastStage) {
  const Batch run{.ranks = 4, .batch = 4, .micro_batches = 4};
  TransformerPlanSpec plan{.pipeline = 4, .recompute = Recompute::Full};
  const Job all = job_of(gpt3(), plan, run);
  plan.recompute_last_stage = false;
  const Job but_last = job_of(gpt3(), plan, run);
  const double sbh = 2048.0 * 12288, scores = 5.0 * 96 * 2048 / 12288;
  const double again = 24 * 4 * sbh * 12288 * (1 + 2048 / (6 * 12288.0));  // 4 samples, one layer
  EXPECT_NEAR((flops(all) - flops(but_last)) / again, 1, 1e-12);
  const auto kept = [](const Job& job) { return job.memory.back()[MemoryUse::Activations]; };
  EXPECT_DOUBLE_EQ(kept(but_last) - kept(all), sbh * (32 + scores));
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(all.memory[stage].total(), but_last.memory[stage].total());
  }
}

}  // namespace
}  // namespace lockstep
