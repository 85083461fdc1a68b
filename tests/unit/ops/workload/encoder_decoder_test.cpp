// T5 and Switch Transformers as Hugging Face writes them. Expectations are worked out from
// transformers v4.38, models/t5/modeling_t5.py and models/switch_transformers/.

#include "ops/workload/encoder_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ops/workload/encoder_decoder_step.hpp"
#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EncoderDecoderSpec spec_of(const std::string& name) {
  return shipped(name).encoder_decoder.value();
}

std::int64_t parameters_in(const EncoderDecoderSpec& spec) {
  const std::vector<std::int64_t> all = spec.parameters();
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

/// One layer each way, 4 tokens of 8 elements, 2 heads of 4, 16 between, 10 words.
EncoderDecoderSpec tiny() {
  return {.layers = 1,
          .hidden = 8,
          .heads = 2,
          .feed_forward = 16,
          .vocabulary = 10,
          .sequence = 4,
          .dropout = false,
          .experts = {},
          .blocking_input_copies = false};
}

EncoderDecoderSpec tiny_switch() {
  EncoderDecoderSpec spec = tiny();
  spec.experts =
      SwitchExpertsSpec{.count = 2, .capacity = 2, .encoder_every = 1, .decoder_every = 0, .jitter = false};
  return spec;
}

std::int64_t waits_of(const Job& job, std::size_t thread) {
  const auto& instructions = job.programs[0]->threads.at(thread).instructions;
  return std::count_if(instructions.begin(), instructions.end(),
                       [](const Instruction& i) { return i.op == Opcode::WaitStream; });
}

std::vector<std::string> names_of(const std::vector<ListedOperator>& operators, std::size_t first,
                                  std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = first; i < first + count; ++i) {
    names.push_back(operators.at(i).name);
  }
  return names;
}

/// The place of an operator's @p nth call (from 0) among those that launch.
std::size_t find(const std::vector<ListedOperator>& operators, const std::string& name, int nth = 0) {
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].name == name && nth-- == 0) {
      return i;
    }
  }
  return operators.size();
}

TEST(EncoderDecoder, ParametersAreThoseOfThePublishedModels) {
  // Hugging Face's counts for T5ForConditionalGeneration.
  EXPECT_EQ(parameters_in(spec_of("t5_base")), 222903552);
  EXPECT_EQ(parameters_in(spec_of("t5_large")), 737668096);
  // google/switch-base-8: t5-base, and in each of 6 + 6 layers 7 experts more and a router of 8 x 768.
  EXPECT_EQ(parameters_in(spec_of("switch_base_8")),
            222903552 + std::int64_t{12} * (7 * 2 * 768 * 3072 + 8 * 768));
  // NeuSight's: h = 1024, 32 heads of 128, f = 16384; 24 dense and 24 sparse feed-forwards.
  const std::int64_t h = 1024, i = 4096, f = 16384;
  EXPECT_EQ(parameters_in(spec_of("switch_xl4_neusight")),
            32128 * h + 24 * (4 * h * i + 2 * h) + 24 * (8 * h * i + 3 * h) + 2 * 32 * 32 + 2 * h +
                24 * 2 * h * f + 24 * (4 * 2 * h * f + 4 * h));
  // google/t5-v1_1-base: gated, the output a weight of its own; 247,577,856.
  EncoderDecoderSpec v1_1 = spec_of("t5_base");
  v1_1.feed_forward = 2048;
  v1_1.activation = T5FeedForward::GatedGelu;
  v1_1.tied = false;
  EXPECT_EQ(parameters_in(v1_1), 247577856);
}

TEST(EncoderDecoder, MultipliesWhatItsProductsDo) {
  // B samples, Q written and K read tokens. Encoder layer: 4 h i + 2 h f for each of K, scores 2 K K i.
  // Decoder layer: queries, keys, values and results of its own tokens 4 h i, of the encoder's 2 h i (Q) and
  // 2 h i (K), 2 h f, scores 2 Q Q i + 2 Q K i. Output: h V for each of Q. Each multiplication is 2 flops.
  EncoderDecoderSpec spec = spec_of("t5_base");
  spec.decoder_sequence = 128;
  const double b = 4, k = 512, q = 128, h = 768, i = 768, f = 3072, v = 32128;
  const double encoder = k * (4 * h * i + 2 * h * f) + 2 * k * k * i;
  const double decoder = q * (6 * h * i + 2 * h * f) + k * 2 * h * i + 2 * q * q * i + 2 * q * k * i;
  const double forward = 2 * b * (12 * encoder + 12 * decoder + q * h * v);
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 4, .phases = Phases::Forward})), forward);
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 4})), 3 * forward);
}

TEST(EncoderDecoder, AGatedFeedForwardHasThreeProducts) {
  EncoderDecoderSpec spec = tiny();
  const double relu = gemm_flops(job_of(spec, {.batch = 1, .phases = Phases::Forward}));
  spec.activation = T5FeedForward::GatedGelu;
  // 4 tokens in encoder and decoder, 8 x 16 multiplications each.
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 1, .phases = Phases::Forward})),
                   relu + 2.0 * 2 * 4 * 8 * 16);
}

TEST(EncoderDecoder, ANormIsWrittenOut) {
  // x.pow(2), mean, + epsilon, rsqrt, x * that, weight * that; then the queries' product.
  const auto operators = operators_of(job_of(tiny(), {.batch = 1, .phases = Phases::Forward}));
  EXPECT_THAT(names_of(operators, find(operators, "aten::pow"), 7),
              ElementsAre("aten::pow", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul",
                          "aten::linear"));
}

TEST(EncoderDecoder, TheFirstLayerMakesTheBiasThatAllAdd) {
  EncoderDecoderSpec spec = tiny();
  spec.layers = 3;
  const Job job = job_of(spec, {.batch = 1, .phases = Phases::Forward});
  // Tokens and distances are looked up once in each stack; 3 + 3 self- and 3 cross-attentions add a bias.
  EXPECT_EQ(count(job, "aten::embedding"), 4);
  EXPECT_EQ(count(job, "aten::add_"), 9);
  EXPECT_EQ(count(job, "aten::log"), 2);
  const auto operators = operators_of(job);
  const std::size_t first = find(operators, "aten::matmul"), second = find(operators, "aten::matmul", 2);
  EXPECT_EQ(operators.at(first + 1).name, "aten::arange") << "made behind the first product of scores";
  EXPECT_EQ(operators.at(second + 1).name, "aten::add_") << "and used again";
}

TEST(EncoderDecoder, BiasesOfAllLayersAreSummedForTheirTable) {
  EncoderDecoderSpec spec = tiny();
  const std::int64_t one = count(job_of(spec, {.batch = 1}), "vectorized_elementwise_kernel<add>");
  spec.layers = 2;
  // Additions of a second encoder and decoder layer. Forward: their residuals (2 and 3), cross-attention's
  // bias (1; the others' are strided, no vectors). Backward: norms (2 x 2 and 3 x 2), three projections (2
  // and 2), cross-attention's keys and values (2). The last layer's first is not added. Also the bias of
  // positions (1 and 1).
  const std::int64_t two = count(job_of(spec, {.batch = 1}), "vectorized_elementwise_kernel<add>");
  EXPECT_EQ(two - one, (2 + 3 + 1) + (4 + 6) + (2 + 2) + 2 + (1 + 1));
  EXPECT_EQ(count(job_of(spec, {.batch = 1}), "EmbeddingBackward0"), 4);
}

TEST(EncoderDecoder, ExpertsWaitForTheIndicesOfTheirMasks) {
  // 2 experts: forward picks tokens and puts them back; backward looks the mask up for the zeros, for the
  // values and for the sum.
  const Job job = job_of(tiny_switch(), {.batch = 1, .phases = Phases::ForwardBackward});
  EXPECT_EQ(waits_of(job, 0), 2 * 2);
  EXPECT_EQ(waits_of(job, 1), 2 * 3);
  EXPECT_EQ(count(job, "write_indices"), 2 * 5);
}

TEST(EncoderDecoder, AnExpertsLoopIsHuggingFaces) {
  const auto operators = operators_of(job_of(tiny_switch(), {.batch = 1, .phases = Phases::Forward}));
  const std::size_t router = find(operators, "aten::argmax") - 2;
  EXPECT_THAT(names_of(operators, router, 10),
              ElementsAre("aten::linear", "aten::softmax", "aten::argmax", "aten::one_hot", "aten::cumsum",
                          "aten::le", "aten::mul", "aten::max", "aten::argmax", "aten::clone"));
  EXPECT_THAT(names_of(operators, router + 10, 7),
              ElementsAre("aten::to", "aten::index", "aten::linear", "aten::relu", "aten::linear",
                          "aten::index_put_", "aten::to"));
  EXPECT_THAT(operators.at(router + 11).kernels,
              ElementsAre("DeviceReduceSingleTileKernel", "Memcpy DtoH (Device -> Pageable)",
                          "DeviceCompactInitKernel", "DeviceSelectSweepKernel", "write_indices",
                          "index_elementwise_kernel<index>"));
}

TEST(EncoderDecoder, CapacityBoundsWhatExpertsMultiply) {
  // 2 samples of 4 tokens; each of 2 experts has room for 2 of a sample: 4 rows. One chosen: it alone gets 4.
  EncoderDecoderSpec spec = tiny_switch();
  const double both = gemm_flops(job_of(spec, {.batch = 2, .phases = Phases::Forward}));
  spec.experts->chosen = 1;
  const Job job = job_of(spec, {.batch = 2, .phases = Phases::ForwardBackward});
  const double one = gemm_flops(job_of(spec, {.batch = 2, .phases = Phases::Forward}));
  EXPECT_DOUBLE_EQ(both - one, 2.0 * 4 * 2 * 8 * 16);
  EXPECT_EQ(waits_of(job, 0), 4) << "that an expert has no tokens is known behind the wait";
  spec.experts->capacity = 100;  // all 4 tokens of both samples
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 2, .phases = Phases::Forward})) - one,
                   2.0 * 4 * 2 * 8 * 16);
}

TEST(EncoderDecoder, TokensOnTheDeviceAreNotCopied) {
  EncoderDecoderSpec spec = tiny();
  const std::string copy = "Memcpy HtoD (Pinned -> Device)";
  EXPECT_EQ(count(job_of(spec, {.batch = 2}), copy), 3);  // tokens, which are padding, labels
  spec.input_on_device = true;
  EXPECT_EQ(count(job_of(spec, {.batch = 2}), copy), 0);
}

TEST(EncoderDecoder, EveryGradientIsReducedOnce) {
  for (const char* name : {"t5_base", "switch_base_8"}) {
    const EncoderDecoderSpec spec = spec_of(name);
    const Job job = job_of(spec, {.ranks = 4, .batch = 8, .micro_batches = 2});
    EXPECT_NO_THROW(check(job));
    double reduced = 0;
    for (const Instruction& i : job.programs[0]->threads[1].instructions) {
      if (i.op == Opcode::Collective) {
        reduced += job.programs[0]->collectives[i.operand].size / 1_B;
      }
    }
    EXPECT_EQ(reduced, 4.0 * static_cast<double>(parameters_in(spec))) << name;
  }
}

TEST(EncoderDecoder, JobsOfAllKindsAreValid) {
  for (EncoderDecoderSpec spec : {tiny(), tiny_switch()}) {
    spec.dropout = true;
    for (const Precision precision : {Precision::FP32, Precision::TF32, Precision::FP16, Precision::BF16}) {
      EXPECT_NO_THROW(check(job_of(spec, {.batch = 2, .precision = precision, .clips = true})));
      EXPECT_NO_THROW(check(job_of(spec, {.batch = 2, .precision = precision, .phases = Phases::Forward})));
    }
  }
  EXPECT_NO_THROW(
      check(job_of(tiny(), {.batch = 2, .precision = Precision::BF16, .mixed = MixedPrecision::Pure})));
}

TEST(EncoderDecoder, MemoryIsStatesAndWhatBackwardReads) {
  // FP32, AdamW, one sample of the tiny T5 without dropout. N = 32, F = 64, S = 2 heads x 16 = 32 elements;
  // q = k = N. Encoder layer: two norms 2 N, self-attention N + 3 N + S + N, feed-forward N + F: 10 N + S +
  // F. Decoder layer: three norms, two attentions: 17 N + 2 S + F. Stacks: bias S and 2 S, last norm 2 N and
  // the result N each. Head: N, logits and log-softmax 2 x 4 x 10.
  const std::int64_t n = 32, f = 64, s = 32, logits = 40;
  const std::int64_t kept = (10 * n + s + f) + (17 * n + 2 * s + f) + 3 * s + 6 * n + n + 2 * logits;
  const Job job = job_of(tiny(), {.batch = 1, .phases = Phases::ForwardBackward});
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Activations], 4.0 * static_cast<double>(kept));
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Parameters], 4.0 * static_cast<double>(parameters_in(tiny())));
  // The two gradients of the logits come when all is kept.
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Workspace], 4.0 * 2 * static_cast<double>(logits));
}

TEST(EncoderDecoder, NothingIsKeptBeyondAStep) {
  EncoderDecoderSpec spec = tiny_switch();
  spec.layers = 3;
  spec.experts->encoder_every = 2;
  const std::vector<VertexId> gpus{0};
  for (const Phases phases : {Phases::ForwardBackward, Phases::Forward}) {
    for (const Precision precision : {Precision::FP32, Precision::BF16}) {
      StepWriter step{plain_host(), 1, {}, precision};
      const TrainingSetup setup{.global_batch = 2,
                                .precision = precision,
                                .framework = {},
                                .parallelism = {},
                                .host = plain_host(),
                                .loader = {},
                                .optimizer = {},
                                .phases = phases,
                                .gpus = gpus,
                                .gpu_memory = {}};
      EncoderDecoderStep writer{step, spec, setup};
      writer.write();
      const MemoryBreakdown& now = writer.memory().now();
      EXPECT_EQ(now[MemoryUse::Activations], 0);
      EXPECT_EQ(now[MemoryUse::Workspace], 0);
      EXPECT_EQ(now[MemoryUse::Parameters], 4.0 * static_cast<double>(parameters_in(spec)));
    }
  }
}

TEST(EncoderDecoder, AnEvaluationKeepsTheDecodersKeysAndValues) {
  // 2 decoder layers keep 4 x 32 elements each, beside the biases of positions (32 of the encoder's pairs,
  // 2 x 32 of the decoder's). The widest moment needs the head's 32 and 2 x 40, or a decoder layer's with one
  // layer's keys and values before (worked out above, 17 N + 2 S + F).
  EncoderDecoderSpec spec = tiny();
  spec.decoder_layers = 2;
  const Job job = job_of(spec, {.batch = 1, .phases = Phases::Forward});
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Workspace], 4.0 * (3 * 32 + 4 * 32 + 17 * 32 + 2 * 32 + 64));
}

TEST(EncoderDecoder, RoutersAreJitteredInTrainingAlone) {
  EncoderDecoderSpec spec = tiny_switch();
  spec.layers = 3;
  spec.experts->jitter = true;
  EXPECT_EQ(count(job_of(spec, {.batch = 1}), "aten::uniform_"), 3);
  EXPECT_EQ(count(job_of(spec, {.batch = 1, .phases = Phases::Forward}), "aten::uniform_"), 0);
}

TEST(EncoderDecoder, SixteenBitsThatAreNotWrittenAreRefused) {
  EXPECT_THAT(
      [] {
        return job_of(tiny(), {.batch = 1, .precision = Precision::FP16, .mixed = MixedPrecision::Pure});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("clamps it")));
  EXPECT_THAT(
      [] {
        return job_of(tiny_switch(),
                      {.batch = 1, .precision = Precision::BF16, .mixed = MixedPrecision::Pure});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("router turns its weights to FP32")));
}

}  // namespace
}  // namespace lockstep
