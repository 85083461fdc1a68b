/// @file
/// XLNet as Hugging Face writes it. Expectations are worked out from transformers 4,
/// models/xlnet/modeling_xlnet.py; copies are those that PyTorch 1.13's profiler lists.

#include "ops/workload/xlnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ops/workload/xlnet_step.hpp"
#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr const char* kCast = "unrolled_elementwise_kernel<cast>";
constexpr const char* kStridedCopy = "elementwise_kernel<copy>";

Job job_of(const XlnetSpec& spec, const Run& run) {
  return job_by(xlnet_job, spec, run);
}

XlnetSpec spec_of(const std::string& name) {
  return shipped(name).xlnet.value();
}

std::int64_t parameters_in(const XlnetSpec& spec) {
  const std::vector<std::int64_t> all = spec.parameters();
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

/// A layer of 4 tokens of 8 elements, 2 heads of 4, 16 between, 10 words.
XlnetSpec tiny() {
  return {.layers = 1,
          .hidden = 8,
          .heads = 2,
          .vocabulary = 10,
          .sequence = 4,
          .feed_forward = 16,
          .dropout = false,
          .blocking_input_copies = false};
}

/// Measures the difference that one layer more makes.
template <class Measure>
auto of_layer(XlnetSpec spec, const Run& run, Measure measure) {
  const auto before = measure(job_of(spec, run));
  ++spec.layers;
  return measure(job_of(spec, run)) - before;
}

std::int64_t count_of_layer(const XlnetSpec& spec, const Run& run, const std::string& name) {
  return of_layer(spec, run, [&](const Job& job) { return count(job, name); });
}

std::int64_t launches_of(const Job& job) {
  std::int64_t launches = 0;
  for (const ListedOperator& op : operators_of(job)) {
    launches += static_cast<std::int64_t>(op.kernels.size());
  }
  return launches;
}

double activations_of_layer(const XlnetSpec& spec, const Run& run) {
  return of_layer(spec, run, [](const Job& job) { return job.memory.at(0)[MemoryUse::Activations]; });
}

/// Operators that launch, from the first of that name on.
std::vector<std::string> names_from(const Job& job, const std::string& name, std::size_t count) {
  std::vector<std::string> names;
  for (const ListedOperator& op : operators_of(job)) {
    if ((!names.empty() || op.name == name) && names.size() < count) {
      names.push_back(op.name);
    }
  }
  return names;
}

std::vector<Pointwise> pointwise_kernels(const Job& job, const std::string& name) {
  std::vector<Pointwise> found;
  for (const KernelCall& kernel : job.programs[0]->kernels) {
    if (kernel.name == name) {
      found.push_back(std::get<Pointwise>(kernel.work));
    }
  }
  return found;
}

TEST(Xlnet, ParametersAreThoseOfThePublishedModels) {
  // XLNetModel has 116,718,336 and 360,268,800, with mask_emb (hidden), which does not learn; the head adds a
  // bias of 32,000. A layer: 5 h h, biases 3 h, segments 2 h, two norms 4 h, feed-forward 2 h f + f + h.
  EXPECT_EQ(parameters_in(spec_of("xlnet_base")), 116718336 - 768 + 32000);
  EXPECT_EQ(parameters_in(spec_of("xlnet_large")), 360268800 - 1024 + 32000);
  XlnetSpec base = spec_of("xlnet_base");
  base.segments = false;
  EXPECT_EQ(parameters_in(base), parameters_in(spec_of("xlnet_base")) - std::int64_t{12} * 3 * 768);
  base.feed_forward = std::nullopt;
  EXPECT_EQ(base.feed_forward_width(), 3072);
}

TEST(Xlnet, MultipliesWhatItsProductsDo) {
  // R = B S tokens, N heads, multiplications of a layer: queries, keys, values and results 4 R h h, distances
  // 2 R h h, scores of tokens B S S h and of distances twice that, of segments 2 R h and 2 B S S N, values B
  // S S h, feed-forward 2 R h f. Output: R h V. Each multiplication is 2 flops.
  const XlnetSpec spec = spec_of("xlnet_base");
  const double b = 4, s = 512, h = 768, n = 12, f = 3072, v = 32000, r = b * s;
  const double distances = 2 * r * h * h, picks = 2 * b * s * s * n;
  const double layer = 4 * r * h * h + distances + 4 * b * s * s * h + 2 * r * h + picks + 2 * r * h * f;
  const double forward = 2 * (12 * layer + r * h * v);
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 4, .phases = Phases::Forward})), forward);
  // Backward: twice that, less the gradients of distances and of which pairs are of one segment.
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(spec, {.batch = 4})), 3 * forward - 2 * 12 * (distances + picks));
}

TEST(Xlnet, WithoutSegmentsTheirTermIsNotThere) {
  XlnetSpec spec = tiny();
  const lockstep::Run run{.batch = 2, .phases = Phases::Forward};
  const double with = gemm_flops(job_of(spec, run));
  EXPECT_EQ(count(job_of(spec, run), "aten::one_hot"), 1);
  spec.segments = false;
  const Job job = job_of(spec, run);
  EXPECT_DOUBLE_EQ(with - gemm_flops(job), 2.0 * (2 * 8 * 8 + 2 * 2 * 16 * 2));
  EXPECT_EQ(count(job, "aten::one_hot"), 0);
}

TEST(Xlnet, ALayerIsHuggingFaces) {
  const lockstep::Run run{.batch = 2, .phases = Phases::Forward};
  EXPECT_THAT(
      names_from(job_of(tiny(), run), "aten::einsum", 25),
      ElementsAre("aten::einsum", "aten::einsum", "aten::einsum", "aten::einsum",   // queries to distances
                  "aten::add", "aten::einsum", "aten::add", "aten::einsum",         // two terms
                  "aten::arange", "aten::index_select",                             // shifted
                  "aten::add", "aten::einsum", "aten::einsum",                      // of segments
                  "aten::add", "aten::add", "aten::mul", "aten::mul", "aten::sub",  // summed, masked
                  "aten::softmax", "aten::einsum", "aten::einsum", "aten::add", "aten::layer_norm",
                  "aten::linear", "aten::gelu"));
  // 23 operators up to the norm and five behind, three copies more and one: of the one-hot, its scores, the
  // result and its weight.
  EXPECT_EQ(of_layer(tiny(), run, launches_of), 23 + 5 + 4);
  // Dropout of probabilities, of the result, between and behind the products of feed-forward.
  XlnetSpec with_dropout = tiny();
  with_dropout.dropout = true;
  EXPECT_EQ(count_of_layer(with_dropout, {.batch = 2}, "aten::dropout"), 4);
  EXPECT_EQ(count_of_layer(with_dropout, run, "aten::dropout"), 0);
}

TEST(Xlnet, OperandsThatDoNotFoldAreCopied) {
  // Forward: the one-hot, its scores, the result, its weight. Backward: the gradients of the result and the
  // one of its weight, of scores (for segments), of the segments' scores and of their embedding, of the cut
  // slice, of distances, values, keys and queries.
  EXPECT_EQ(count_of_layer(tiny(), {.batch = 2}, kStridedCopy), 4 + 10);
  // One sample: forward result and weight. Backward the products copy the result's and the segments' scores'
  // gradients twice each; distances and keys are read transposed.
  EXPECT_EQ(count_of_layer(tiny(), {.batch = 1}, kStridedCopy), 2 + 9);
}

TEST(Xlnet, TheShiftsBackwardWritesFourSlices) {
  // Gradients of B N S (2 S - 1) = 112 elements are copied whole, cut into, and all 128 copied twice; before
  // that 64 are added to zeros by index, as they were picked.
  const Job job = job_of(tiny(), {.batch = 2});
  const std::vector<Pointwise> added = pointwise_kernels(job, "indexFuncLargeIndex<add>");
  ASSERT_EQ(added.size(), 1);
  EXPECT_EQ(added[0].elements, 64);
  EXPECT_GT(pointwise_kernels(job_of(tiny(), {.batch = 2, .precision = Precision::BF16}),
                              "indexFuncLargeIndex<add>")[0]
                .instructions,
            added[0].instructions);
  EXPECT_EQ(count(job, "SliceBackward0"), 4);
  std::vector<double> copies;
  for (const KernelCall& kernel : job.programs[0]->kernels) {
    if (const auto* copy = std::get_if<Memcpy>(&kernel.work)) {
      if (copy->path == Memcpy::Path::DeviceToDevice) {
        copies.push_back(copy->size / 1_B);
      }
    }
  }
  EXPECT_THAT(copies, ElementsAre(4 * 112, 4 * 128));
}

TEST(Xlnet, HeadsSideBySideLieInSectorsOfTheirOwn) {
  // Scores of segments have heads side by side, the mask has samples: from 8 of FP32 on they fill 32 bytes.
  XlnetSpec spec = tiny();
  spec.heads = 8;
  const lockstep::Run run{.batch = 2, .phases = Phases::Forward};
  const auto windows = [](const Job& job, const std::string& name) {
    std::int64_t most = 0;
    for (const Pointwise& work : pointwise_kernels(job, name)) {
      most = std::max(most, work.sector_window);
    }
    return most;
  };
  EXPECT_EQ(windows(job_of(spec, run), "elementwise_kernel<add>"), 16);
  EXPECT_EQ(windows(job_of(tiny(), run), "elementwise_kernel<add>"), 0);
  EXPECT_EQ(windows(job_of(spec, run), "elementwise_kernel<sub>"), 0);
  EXPECT_EQ(windows(job_of(tiny(), {.batch = 8, .phases = Phases::Forward}), "elementwise_kernel<sub>"), 16);
}

TEST(Xlnet, AutocastCastsWhatProductsRead) {
  const lockstep::Run forward{.batch = 2, .precision = Precision::BF16, .phases = Phases::Forward};
  // Four projections 2 each; queries plus biases 3, the segments' embedding, their one-hot; probabilities;
  // the output's weight; feed-forward's input, weights and biases.
  EXPECT_EQ(count_of_layer(tiny(), forward, kCast), 8 + 3 + 1 + 1 + 1 + 1 + 5);
  // Backward: residuals 2; weights and inputs of feed-forward 5; the output's weight; scores to FP32 and
  // back; the segments' embedding; three terms to FP32 and back; distances' weight; three weights and inputs.
  lockstep::Run both = forward;
  both.phases = Phases::ForwardBackward;
  EXPECT_EQ(count_of_layer(tiny(), both, kCast), 20 + 2 + 5 + 1 + 2 + 1 + 6 + 1 + 6);
  // All in 16 bits: distances, which come in FP32.
  both.mixed = MixedPrecision::Pure;
  EXPECT_EQ(count_of_layer(tiny(), both, kCast), 1);
  EXPECT_EQ(count_of_layer(tiny(), {.batch = 2}, kCast), 0);
}

TEST(Xlnet, WithoutAnAttentionMaskNoneIsMade) {
  XlnetSpec spec = tiny();
  spec.attention_mask = false;
  const lockstep::Run forward{.batch = 4, .phases = Phases::Forward};
  const Job job = job_of(spec, forward);
  EXPECT_EQ(count(job, "aten::eye"), 0);
  EXPECT_EQ(count(job, "aten::sub"), 0);
  EXPECT_EQ(count(job, "Memcpy HtoD (Pageable -> Device)"), 1);  // distances
  EXPECT_EQ(count(job, "Memcpy HtoD (Pinned -> Device)"), 2);    // tokens, segments
  EXPECT_EQ(count_of_layer(tiny(), forward, "aten::mul"), 2);    // the scale, what is masked
  EXPECT_EQ(count_of_layer(spec, forward, "aten::mul"), 1);
  spec.input_on_device = true;
  EXPECT_EQ(count(job_of(spec, forward), "Memcpy HtoD (Pinned -> Device)"), 0);
}

TEST(Xlnet, AutocastsSoftmaxOfUnmaskedScoresMakesThemFp32) {
  // The subtraction did; PyTorch's softmax of FP16 does itself, of BF16 a cast before it, and one behind its
  // backward (the other precision casts the gradient of what was masked).
  XlnetSpec spec = tiny();
  spec.attention_mask = false;
  const auto casts = [](const XlnetSpec& of, Precision precision, Phases phases) {
    return count_of_layer(of, {.batch = 2, .precision = precision, .phases = phases}, kCast);
  };
  EXPECT_EQ(casts(spec, Precision::BF16, Phases::Forward),
            casts(tiny(), Precision::BF16, Phases::Forward) + 1);
  EXPECT_EQ(casts(spec, Precision::FP16, Phases::Forward), casts(tiny(), Precision::FP16, Phases::Forward));
  EXPECT_EQ(casts(spec, Precision::BF16, Phases::ForwardBackward),
            casts(tiny(), Precision::BF16, Phases::ForwardBackward) + 1);
  EXPECT_EQ(casts(spec, Precision::FP16, Phases::ForwardBackward),
            casts(tiny(), Precision::FP16, Phases::ForwardBackward) - 1);
  for (const KernelCall& kernel :
       job_of(spec, {.batch = 2, .precision = Precision::FP16}).programs[0]->kernels) {
    if (const auto* softmax = std::get_if<Softmax>(&kernel.work); softmax && softmax->columns == 4) {
      EXPECT_TRUE(softmax->half_to_float);
    }
  }
}

TEST(Xlnet, DistancesAreCopiedForEachSample) {
  // Tokens, mask, segments and labels from pinned memory; the identity of 4 x 4 and distances 2 x 4 tokens x
  // 4 samples x 8 from where they were made, for which the host waits.
  const Job job = job_of(tiny(), {.batch = 4});
  const std::string pinned = "Memcpy HtoD (Pinned -> Device)", pageable = "Memcpy HtoD (Pageable -> Device)";
  EXPECT_EQ(count(job, pinned), 4);
  EXPECT_EQ(count(job_of(tiny(), {.batch = 4, .phases = Phases::Forward}), pinned), 3);
  EXPECT_EQ(count(job, pageable), 2);
  std::vector<double> sizes;
  for (const KernelCall& kernel : job.programs[0]->kernels) {
    if (kernel.name == pageable) {
      sizes.push_back(std::get<Memcpy>(kernel.work).size / 1_B);
    }
  }
  EXPECT_THAT(sizes, ElementsAre(4 * 16, 4 * 2 * 16 * 8));
  const auto& instructions = job.programs[0]->threads.at(0).instructions;
  EXPECT_EQ(std::count_if(instructions.begin(), instructions.end(),
                          [](const Instruction& i) { return i.op == Opcode::WaitStream; }),
            2);
}

TEST(Xlnet, EveryGradientIsReducedOnce) {
  for (const bool segments : {true, false}) {
    XlnetSpec spec = spec_of("xlnet_base");
    spec.segments = segments;
    const Job job = job_of(spec, {.ranks = 2, .batch = 8, .micro_batches = 2});
    EXPECT_NO_THROW(check(job));
    double reduced = 0;
    for (const Instruction& i : job.programs[0]->threads[1].instructions) {
      if (i.op == Opcode::Collective) {
        reduced += job.programs[0]->collectives[i.operand].size / 1_B;
      }
    }
    EXPECT_EQ(reduced, 4.0 * static_cast<double>(parameters_in(spec)));
  }
}

TEST(Xlnet, JobsOfAllKindsAreValid) {
  XlnetSpec spec = tiny();
  spec.dropout = true;
  for (const Precision precision : {Precision::FP32, Precision::TF32, Precision::FP16, Precision::BF16}) {
    EXPECT_NO_THROW(check(job_of(spec, {.batch = 2, .precision = precision, .clips = true})));
    EXPECT_NO_THROW(check(job_of(spec, {.batch = 1, .precision = precision, .phases = Phases::Forward})));
  }
  for (const MixedPrecision mixed : {MixedPrecision::MasterWeights, MixedPrecision::Pure}) {
    EXPECT_NO_THROW(check(job_of(spec, {.batch = 2, .precision = Precision::FP16, .mixed = mixed})));
  }
}

/// In bytes, with E = tokens x hidden, S = heads x pairs and G = 2 x pairs elements of 2 samples. FP32: the
/// input, keys and values E each, distances' keys 2 E, queries plus biases 3 E, result E, norm E;
/// feed-forward input E, norm E: 12 E, and 2 x 4 E between (f = 2 h); one-hot G; scores 2 S; the output's
/// weight h h. Masks of a byte: S, E, 2 E (between), E. Autocast: 2 E of inputs more and 2 E of distances;
/// norms stay FP32, and softmax; casts of weights 4 h h and 2 h besides.
TEST(Xlnet, ALayerKeepsWhatAutogradSaves) {
  XlnetSpec spec = tiny();
  spec.dropout = true;
  const double e = 64, s = 64, g = 64, hh = 64, h = 8, masks = s + e + 2 * e + e;
  const lockstep::Run fp32{.batch = 2, .phases = Phases::ForwardBackward};
  EXPECT_DOUBLE_EQ(activations_of_layer(spec, fp32), 4 * (12 * e + 4 * e + g + 2 * s + hh) + masks);
  lockstep::Run run = fp32;
  run.precision = Precision::BF16;
  const double wide_norms_and_softmax = 2 * (2 * e + s);
  EXPECT_DOUBLE_EQ(activations_of_layer(spec, run),
                   2 * (16 * e + 4 * e + g + 2 * s + 5 * hh + 2 * h) + masks + wide_norms_and_softmax);
  run.mixed = MixedPrecision::Pure;
  EXPECT_DOUBLE_EQ(activations_of_layer(spec, run), 2 * (14 * e + 4 * e + g + 2 * s + hh) + masks);
  // The second GEMM reads softmax's result if there is no dropout; one sample's one-hot is the model's.
  EXPECT_DOUBLE_EQ(activations_of_layer(tiny(), fp32), 4 * (12 * e + 4 * e + g + s + hh));
  EXPECT_DOUBLE_EQ(activations_of_layer(tiny(), {.batch = 1, .phases = Phases::ForwardBackward}),
                   4 * ((12 * e + 4 * e + s) / 2 + hh));
}

TEST(Xlnet, MemoryIsStatesAndWhatBackwardReads) {
  // Beside the layer (above), FP32 without dropout: the mask 32, one-hot 64, distances 128; head's input 64,
  // logits and log-softmax 2 x 80.
  const Job job = job_of(tiny(), {.batch = 2, .phases = Phases::ForwardBackward});
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Activations], 4.0 * (16 * 64 + 3 * 64 + 32 + 64 + 128 + 64 + 2 * 80));
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Parameters], 4.0 * static_cast<double>(parameters_in(tiny())));
  EXPECT_EQ(job.memory.at(0)[MemoryUse::Workspace], 4.0 * 2 * 80);
}

TEST(Xlnet, NothingIsKeptBeyondAStep) {
  XlnetSpec spec = tiny();
  spec.layers = 3;
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
      XlnetStep writer{step, spec, setup};
      writer.write();
      const MemoryBreakdown& now = writer.memory().now();
      EXPECT_EQ(now[MemoryUse::Activations], 0);
      EXPECT_EQ(now[MemoryUse::Workspace], 0);
      EXPECT_EQ(now[MemoryUse::Parameters], 4.0 * static_cast<double>(parameters_in(spec)));
    }
  }
}

TEST(Xlnet, AnEvaluationKeepsTheInputsOfItsLayers) {
  // For a text that goes on: 64 elements a layer.
  const double more = of_layer(tiny(), {.batch = 2, .phases = Phases::Forward},
                               [](const Job& job) { return job.memory.at(0)[MemoryUse::Workspace]; });
  EXPECT_EQ(more, 4.0 * 64);
}

}  // namespace
}  // namespace lockstep
