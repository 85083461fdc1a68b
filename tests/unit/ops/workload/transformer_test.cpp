#include "ops/workload/transformer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(Transformer, ParametersAreThoseOfThePublishedModels) {
  // Hugging Face's counts: GPT2LMHeadModel and BertForMaskedLM with tied weights.
  EXPECT_EQ(parameters_of_model("gpt2"), 124439808);
  EXPECT_EQ(parameters_of_model("gpt2_medium"), 354823168);
  EXPECT_EQ(parameters_of_model("gpt2_xl"), 1557611200);
  EXPECT_EQ(parameters_of_model("bert_base"), 109514298);
  EXPECT_EQ(parameters_of_model("bert_large"), 335174458);
  EXPECT_EQ(parameters_of_model("opt_1b3"), 1315758080);
}

TEST(Transformer, ArithmeticIsSixTimesParametersTimesTokens) {
  // Kaplan et al., arXiv 2001.08361, table 1: 6 N per token for the weights of products (2 forward, 4
  // backward), and for each layer 3 x (2 x 2 S H) per token for the two products of attention.
  const Job job = job_of("gpt2", {.batch = 2});
  const double tokens = 2.0 * 1024, weights = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
  const double expected = tokens * (6 * weights + 12.0 * 3 * 4 * 1024 * 768);
  EXPECT_NEAR(gemm_flops(job) / expected, 1, 1e-9);
}

TEST(Transformer, JobsOfAllKindsAreValid) {
  for (const char* name : {"gpt2", "bert_base"}) {
    for (const Precision precision : {Precision::FP32, Precision::TF32, Precision::FP16, Precision::BF16}) {
      for (const std::size_t ranks : {1U, 8U}) {
        EXPECT_NO_THROW(check(job_of(
            name, {.ranks = ranks, .batch = 16, .precision = precision, .micro_batches = 2, .clips = true})));
      }
    }
  }
  EXPECT_NO_THROW(check(job_of("gpt2_xl", {.ranks = 8})));
}

TEST(Transformer, EveryGradientIsReducedOnce) {
  const Job job = job_of("gpt2", {.ranks = 8, .batch = 32, .micro_batches = 2});
  double reduced = 0;
  int reductions = 0;
  for (const Instruction& i : job.programs[0]->threads[1].instructions) {
    if (i.op == Opcode::Collective) {
      reduced += job.programs[0]->collectives[i.operand].size / 1_B;
      ++reductions;
    }
  }
  EXPECT_EQ(reduced, 4.0 * 124439808);
  // The first bucket closes at 1 MiB, others at 25 MiB or with the parameter that passes it, the last one
  // with the 154 MB of the token embedding: 498 MB give at least 8 buckets and at most 20.
  EXPECT_GE(reductions, 8);
  EXPECT_LE(reductions, 20);
}

TEST(Transformer, AClassifierHasThePublishedParametersAndNoOutputOfTokens) {
  // Hugging Face's BertForSequenceClassification with two labels: bert-base-uncased 109,482,240 with its
  // pooler, and 2 x 768 + 2.
  TransformerSpec spec = shipped("bert_base").transformer.value();
  spec.classes = 2;
  const std::vector<std::int64_t> all = spec.parameters();
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), 109483778);
  // 4 x 512 tokens; per layer 12 h^2 and 2 S h for each token; the head for one token of a sample.
  const Job job = job_of(spec, {.batch = 4, .phases = Phases::Forward});
  const double layers = 2.0 * 2048 * 12 * (12 * 768 * 768 + 2 * 512 * 768);
  EXPECT_DOUBLE_EQ(gemm_flops(job), layers + 2.0 * 4 * (768 * 768 + 2 * 768));
  EXPECT_NO_THROW(check(job_of(spec, {.batch = 4, .precision = Precision::BF16})));
}

TEST(Transformer, AGptClassifierScoresEveryTokenAndLearnsFromTheLastOfEachSample) {
  // Hugging Face's GPT2ForSequenceClassification with two labels: GPT2Model of 124,439,808 and 2 x 768.
  TransformerSpec spec = shipped("gpt2").transformer.value();
  spec.classes = 2;
  const std::vector<std::int64_t> all = spec.parameters();
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), 124439808 + 2 * 768);
  // 4 x 1024 tokens; per layer 12 h^2 and 2 S h for each token; the head for each token.
  const Job job = job_of(spec, {.batch = 4, .phases = Phases::Forward});
  const double layers = 2.0 * 4096 * 12 * (12 * 768 * 768 + 2 * 1024 * 768);
  EXPECT_DOUBLE_EQ(gemm_flops(job), layers + 2.0 * 4096 * 2 * 768);
  EXPECT_NEAR(gemm_flops(job_of(spec, {.batch = 4})) / gemm_flops(job), 3, 1e-9);
  EXPECT_NO_THROW(check(job_of(spec, {.ranks = 8, .batch = 16, .precision = Precision::BF16})));
}

TEST(Transformer, ForwardAloneIsAThirdOfTheArithmeticWithoutDropoutLossAndGradients) {
  const Job whole = job_of("gpt2", {.batch = 2});
  const Job forward = job_of("gpt2", {.batch = 2, .phases = Phases::Forward});
  EXPECT_NEAR(gemm_flops(whole) / gemm_flops(forward), 3, 1e-9);
  EXPECT_EQ(count(whole, "aten::dropout"), 1 + 3 * 12);  // behind the embeddings; three in a layer
  EXPECT_EQ(count(forward, "aten::dropout"), 0);
  EXPECT_EQ(count(forward, "aten::cross_entropy_loss"), 0);
  // FP32 parameters of 4 B; nothing else outlives its reader.
  const MemoryBreakdown& memory = forward.memory.at(0);
  EXPECT_EQ(memory[MemoryUse::Parameters], 4.0 * 124439808);
  EXPECT_EQ(memory[MemoryUse::Gradients], 0);
  EXPECT_EQ(memory[MemoryUse::Optimizer], 0);
  EXPECT_EQ(memory[MemoryUse::Activations], 0);
}

TEST(Transformer, ForwardAndBackwardAddToEveryGradientAndLeaveParametersAlone) {
  const std::int64_t parameters = static_cast<std::int64_t>(shipped("gpt2").transformer->parameters().size());
  const Job job = job_of("gpt2", {.batch = 8, .phases = Phases::ForwardBackward});
  EXPECT_EQ(count(job, "torch::autograd::AccumulateGrad"), parameters);
  EXPECT_NEAR(gemm_flops(job) / gemm_flops(job_of("gpt2", {.batch = 8})), 1, 1e-12);
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Optimizer], 0);
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Gradients], 4.0 * 124439808);
}

TEST(Transformer, LaterMicroBatchesAddToGradients) {
  const std::int64_t parameters = static_cast<std::int64_t>(shipped("gpt2").transformer->parameters().size());
  EXPECT_EQ(count(job_of("gpt2", {.batch = 8}), "torch::autograd::AccumulateGrad"), 0);
  EXPECT_EQ(count(job_of("gpt2", {.batch = 9, .micro_batches = 3}), "torch::autograd::AccumulateGrad"),
            2 * parameters);
}

TEST(Transformer, MixedPrecisionCastsEveryWeightBothWays) {
  const Job job = job_of("gpt2", {.batch = 4, .precision = Precision::BF16});
  EXPECT_EQ(count(job, "sgemm"), 0);
  // A layer: 4 products; forward and two gradients each; and 2 + 4 products of attention. The head: 3.
  EXPECT_EQ(count(job, "bf16_gemm"), 12 * (4 * 3 + 6) + 3);
  // Backward, a layer: 8 parameters, the inputs of QKV, of the first and (gelu_new is FP32) of the second
  // layer of the MLP, softmax's two, and pow's. Head: weight and input. Loss: logits.
  EXPECT_EQ(count(job, "ToCopyBackward0"), 12 * (8 + 3 + 2 + 1) + 2 + 1);
}

TEST(Transformer, OnlyFp16ScalesItsLoss) {
  const std::string check_name = "multi_tensor_apply_kernel<non_finite_check_and_unscale>";
  EXPECT_GT(count(job_of("gpt2", {.precision = Precision::FP16}), check_name), 0);
  EXPECT_EQ(count(job_of("gpt2", {.precision = Precision::BF16}), check_name), 0);
}

TEST(Transformer, OptimizersLaunchAsTheirStyleSays) {
  // 148 parameters, 8 operations each.
  EXPECT_EQ(
      count(job_of("gpt2", {.optimizer = OptimizerStyle::PerTensor}), "vectorized_elementwise_kernel<lerp>"),
      148);
  // Fused: 36 tensors or 320 chunks of 65,536: the token embedding alone has 589 chunks.
  const std::int64_t fused =
      count(job_of("gpt2", {.optimizer = OptimizerStyle::Fused}), "multi_tensor_apply_kernel<fused_adamw>");
  EXPECT_GE(fused, 124439808 / 65536 / 320 + 1);
  EXPECT_LE(fused, 148 / 36 + 124439808 / 65536 / 320 + 2);
}

/// Elements that kernels of a name pass over.
std::int64_t elements_of(const Job& job, const std::string& kernel) {
  std::int64_t elements = 0;
  for (const Instruction& i : job.programs[0]->threads[0].instructions) {
    const bool launches = i.op == Opcode::Launch && job.programs[0]->kernels[i.operand].name == kernel;
    if (!launches) {
      continue;
    }
    const KernelWork& work = job.programs[0]->kernels[i.operand].work;
    const auto* update = std::get_if<OptimizerUpdate>(&work);
    elements += update != nullptr ? update->parameters : std::get<Pointwise>(work).elements;
  }
  return elements;
}

std::int64_t waits_of(const Job& job, std::size_t thread) {
  return std::ranges::count(job.programs[0]->threads.at(thread).instructions, Opcode::WaitStream,
                            &Instruction::op);
}

std::int64_t waits_of_main(const Job& job) {
  return waits_of(job, 0);
}

TEST(Transformer, LambTakesThreeNormsAndTwoStages) {
  const std::int64_t all = parameters_of_model("bert_base");
  const Job job = job_of("bert_base", {.update = Optimizer::Lamb});
  // Norms of gradients, parameters and updates, and that of the two gradient norms.
  EXPECT_EQ(elements_of(job, "multi_tensor_apply_kernel<l2norm>"), 3 * all + 2);
  EXPECT_EQ(elements_of(job, "multi_tensor_apply_kernel<lamb_stage1>"), all);
  EXPECT_EQ(elements_of(job, "multi_tensor_apply_kernel<lamb_stage2>"), all);
  EXPECT_EQ(count(job, "l2norm_cleanup"), 4);
  EXPECT_EQ(waits_of_main(job), waits_of_main(job_of("bert_base", {}))) << "the host reads no norm";
  EXPECT_DOUBLE_EQ(job.memory.at(0)[MemoryUse::Optimizer], 8.0 * static_cast<double>(all));
}

TEST(Transformer, TheHostReadsTheNormOfEveryParameterBeforePyTorch110) {
  const auto parameters = static_cast<std::int64_t>(shipped("bert_base").transformer->parameters().size());
  const auto plain = waits_of_main(job_of("bert_base", {}));
  const Job reads = job_of("bert_base", {.update = Optimizer::BertAdam, .clip_reads_norm = true});
  EXPECT_EQ(waits_of_main(reads) - plain, parameters);
  const Job clamps = job_of("bert_base", {.update = Optimizer::BertAdam});
  EXPECT_EQ(waits_of_main(clamps), plain);
  EXPECT_EQ(count(clamps, "aten::mul_") - count(reads, "aten::mul_"), parameters);
  EXPECT_EQ(waits_of_main(job_of("bert_base", {.clips = true})), plain);
  EXPECT_EQ(waits_of_main(job_of("bert_base", {.clips = true, .clip_reads_norm = true})), plain + 1);
}

TEST(Transformer, OldEmbeddingsLetTheHostCountTheirRows) {
  const auto waits = [](std::int64_t batch, EmbeddingBackward backward) {
    return waits_of(job_of("gpt2", {.batch = batch, .embedding_backward = backward}), 1);
  };
  // 1,024 tokens and as many positions a sample; positions are the same for all samples.
  EXPECT_EQ(waits(1, EmbeddingBackward::PyTorch17), 2);
  EXPECT_EQ(waits(1, EmbeddingBackward::PyTorch18), 0);
  EXPECT_EQ(waits(4, EmbeddingBackward::PyTorch18), 1);
  EXPECT_EQ(waits(4, EmbeddingBackward::PyTorch112), 0);
}

TEST(Transformer, OldTransformersCopyTheIndicesOfTheirClasses) {
  TransformerSpec spec = shipped("gpt2").transformer.value();
  spec.classes = 2;
  const Job plain = job_of(spec, {.batch = 4});
  spec.class_indices_on_host = true;
  const Job copies = job_of(spec, {.batch = 4});
  EXPECT_EQ(waits_of(copies, 0) - waits_of(plain, 0), 1);
  EXPECT_EQ(waits_of(copies, 1) - waits_of(plain, 1), 1);
}

TEST(Transformer, AnOptimizerPerTensorIsALoopOfOperators) {
  const auto parameters = static_cast<std::int64_t>(shipped("bert_base").transformer->parameters().size());
  EXPECT_EQ(count(job_of("bert_base", {}), "aten::addcdiv_"), 0);
  EXPECT_EQ(count(job_of("bert_base", {.optimizer = OptimizerStyle::PerTensor}), "aten::addcdiv_"),
            parameters);
  const Job job = job_of("bert_base", {.update = Optimizer::AdamWHf});
  EXPECT_EQ(count(job, "aten::mul_"), 2 * parameters);
  EXPECT_EQ(count(job, "aten::sqrt"), parameters);
  EXPECT_DOUBLE_EQ(job.memory.at(0)[MemoryUse::Optimizer],
                   8.0 * static_cast<double>(parameters_of_model("bert_base")));
}

TEST(Transformer, BertAdamIsALoopOverParameters) {
  const auto parameters = static_cast<std::int64_t>(shipped("bert_base").transformer->parameters().size());
  const Job plain = job_of("bert_base", {});
  const Job job = job_of("bert_base", {.update = Optimizer::BertAdam});
  EXPECT_EQ(count(job, "aten::addcmul_"), parameters);
  EXPECT_EQ(count(job, "aten::neg"), parameters);
  // Matrices decay: three embeddings, six of each of twelve layers, the head's. update += decay * p is the
  // third aten::add_ then.
  const std::int64_t matrices = 3 + 6 * 12 + 1;
  EXPECT_EQ(count(job, "aten::add_") - count(plain, "aten::add_"), 2 * parameters + matrices);
}

TEST(Transformer, SgdAndAdagradKeepFewerStates) {
  const auto all = static_cast<double>(parameters_of_model("gpt2"));
  const auto states = [&](Optimizer update) {
    return job_of("gpt2", {.update = update}).memory.at(0)[MemoryUse::Optimizer] / all;
  };
  EXPECT_EQ(states(Optimizer::Sgd), 0);
  EXPECT_EQ(states(Optimizer::Adagrad), 4);
  EXPECT_EQ(states(Optimizer::BertAdam), 8);
}

Job job_in_fp16(bool apex) {
  return job_of("bert_base", {.batch = 6,
                              .precision = Precision::FP16,
                              .micro_batches = 3,
                              .clips = true,
                              .optimizer = OptimizerStyle::Fused,
                              .mixed = MixedPrecision::MasterWeights,
                              .apex = apex});
}

TEST(Transformer, ApexUnscalesBehindEveryBackwardPass) {
  const std::int64_t all = parameters_of_model("bert_base");
  const Job job = job_in_fp16(true);
  EXPECT_NO_THROW(check(job));
  // The first pass makes FP32 gradients, two are added to them; clipping and the copy to 16 bits scale, too.
  EXPECT_EQ(elements_of(job, "multi_tensor_apply_kernel<axpby>"), 2 * all);
  EXPECT_EQ(elements_of(job, "multi_tensor_apply_kernel<scale>"), 3 * all);
  EXPECT_EQ(count(job, "torch::autograd::AccumulateGrad"), 0) << "each pass finds no gradient";
  EXPECT_EQ(count(job, "multi_tensor_apply_kernel<non_finite_check_and_unscale>"), 0);
  // Three overflow flags and a norm, where GradScaler reads one flag.
  EXPECT_EQ(waits_of_main(job) - waits_of_main(job_in_fp16(false)), 3);
  EXPECT_DOUBLE_EQ(job.memory.at(0)[MemoryUse::Gradients], 6.0 * static_cast<double>(all));
}

TEST(Transformer, ApexTrainsIn16BitsAsO2Does) {
  EXPECT_THAT([] { (void)job_of("bert_base", {.precision = Precision::FP16, .apex = true}); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("mixed_precision: master_weights")));
}

TEST(Transformer, FlashAttentionReplacesTheScores) {
  TransformerSpec spec = shipped("gpt2").transformer.value();
  spec.attention = AttentionKernels::Flash;
  const Job job = job_of(spec, {.precision = Precision::BF16});
  EXPECT_EQ(count(job, "flash_fwd_kernel"), 12);
  EXPECT_EQ(count(job, "softmax_warp_forward"), 0);
  EXPECT_THROW((void)job_of(spec, {.precision = Precision::FP32}), std::invalid_argument);
}

TEST(Transformer, ABatchMustDivide) {
  EXPECT_THAT([] { (void)job_of("gpt2", {.ranks = 8, .batch = 24, .micro_batches = 2}); },
              ::testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("24 cannot be divided evenly among 8 GPUs x 2 micro-batches")));
}

/// Bytes of all collectives of that kind.
double bytes_of(const Job& job, CollectiveKind kind) {
  double bytes = 0;
  for (const Program::Thread& thread : job.programs[0]->threads) {
    for (const Instruction& i : thread.instructions) {
      const CollectiveCall* call =
          i.op == Opcode::Collective ? &job.programs[0]->collectives[i.operand] : nullptr;
      bytes += call != nullptr && call->kind == kind ? call->size.in_base_units() : 0;
    }
  }
  return bytes;
}

double reduced_bytes(const Job& job) {
  return bytes_of(job, CollectiveKind::AllReduce);
}

// A byte for each pair of GPT-2's 1,024 positions in each of twelve layers, and a number of each; BERT's
// positions and segments. Once a step, however many micro-batches it has.
TEST(Transformer, BuffersAreBroadcastOnceAStep) {
  const auto sent = [](const char* name) {
    return bytes_of(job_of(name, {.ranks = 2, .batch = 4, .micro_batches = 2}), CollectiveKind::Broadcast);
  };
  EXPECT_EQ(sent("gpt2"), 12 * (1024.0 * 1024 + 4));
  EXPECT_EQ(sent("bert_base"), 2 * 512 * 8.0);
  EXPECT_EQ(sent("opt_1b3"), 0);
}

TEST(Transformer, AModelIn16BitsCastsNothingButTheLogits) {
  for (const std::string name : {"gpt2", "bert_base"}) {
    const auto in_bf16 = [&](MixedPrecision mixed) {
      return job_of(name, {.ranks = 2, .precision = Precision::BF16, .mixed = mixed});
    };
    const Job job = in_bf16(MixedPrecision::MasterWeights);
    EXPECT_EQ(count(job, "unrolled_elementwise_kernel<cast>"), 2) << "to FP32 before the loss, and back";
    const auto parameters = static_cast<double>(parameters_of_model(name));
    EXPECT_NEAR(reduced_bytes(job), 2 * parameters, 1) << name;
    EXPECT_NEAR(reduced_bytes(in_bf16(MixedPrecision::Autocast)), 4 * parameters, 1) << name;
  }
}

TEST(Transformer, MasterWeightsAreFourBytesMoreThanTwoMoments) {
  const auto all = static_cast<double>(parameters_of_model("gpt2"));
  const auto held = [&](MixedPrecision mixed, MemoryUse use) {
    const Job job = job_of("gpt2", {.precision = Precision::BF16, .mixed = mixed});
    return job.memory.at(0)[use] / all;
  };
  EXPECT_NEAR(held(MixedPrecision::Autocast, MemoryUse::Optimizer), 8, 1e-9);
  EXPECT_NEAR(held(MixedPrecision::MasterWeights, MemoryUse::Optimizer), 12, 1e-9);
  EXPECT_NEAR(held(MixedPrecision::MasterWeights, MemoryUse::Parameters), 2, 1e-9);
  EXPECT_NEAR(held(MixedPrecision::Pure, MemoryUse::Optimizer), 4, 1e-9);
}

TEST(Transformer, OnlyMasterWeightsAreWidenedAndCopiedBack) {
  const auto conversions = [](MixedPrecision mixed) {
    return count(job_of("gpt2", {.precision = Precision::BF16, .mixed = mixed}),
                 "multi_tensor_apply_kernel<scale>");
  };
  EXPECT_GT(conversions(MixedPrecision::MasterWeights), 0);
  EXPECT_EQ(conversions(MixedPrecision::Autocast), 0);
  EXPECT_EQ(conversions(MixedPrecision::Pure), 0);
}

TEST(Transformer, SixteenBitModelsNeedSixteenBitProducts) {
  EXPECT_THAT([] { job_of("gpt2", {.mixed = MixedPrecision::Pure}); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("needs 'precision: fp16'")));
}

}  // namespace
}  // namespace lockstep
