// Compiled GPT-2 and BERT against the kernels that TorchInductor wrote: github.com/thuml/learn_torch.compile,
// huggingface/{DistillGPT2,BertForMaskedLM}_{inference,training}_cuda (PyTorch 2.2 in development, FP32, one
// sample).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/yaml_reader.hpp"
#include "ops/workload/compiled/compiled_graph.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/transformer.hpp"
#include "ops/workload/transformer_memory.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

TransformerSpec distil_gpt2() {
  return {.family = TransformerFamily::Gpt,
          .layers = 6,
          .hidden = 768,
          .heads = 12,
          .vocabulary = 50257,
          .positions = 1024,
          .sequence = 512,
          .gelu = Gelu::Composed,
          .blocking_input_copies = false};
}

TransformerSpec bert(std::int64_t layers) {
  TransformerSpec spec = distil_gpt2();
  spec.family = TransformerFamily::Bert;
  spec.layers = layers;
  spec.vocabulary = 30522;
  spec.token_types = 2;
  spec.gelu = Gelu::Fused;
  return spec;
}

struct Setup {
  Phases phases = Phases::ForwardBackward;
  Precision precision = Precision::FP32;
  Compile compile = Compile::Inductor;
  int ranks = 1;
  int batch = 1;
  CompiledLoss loss = CompiledLoss::Stored;  // as in the graphs that these are held against
};

Job job_of(const TransformerSpec& spec, const Setup& of) {
  std::vector<VertexId> gpus(static_cast<std::size_t>(of.ranks));
  std::iota(gpus.begin(), gpus.end(), 0U);
  TrainingSetup setup;
  setup.global_batch = std::int64_t{of.batch} * of.ranks;
  setup.precision = of.precision;
  setup.framework.compile = of.compile;
  if (of.compile != Compile::None) setup.framework.compiled_loss = of.loss;
  setup.host = plain_host();
  setup.phases = of.phases;
  setup.gpus = gpus;
  return transformer_job(spec, setup);
}

/// Kernels within ranges of that name, without copies of inputs.
Names kernels_in(const Job& job, const std::string& range) {
  Names names;
  for (const ListedOperator& of : operators_of(job)) {
    if (of.name == range) {
      names.insert(names.end(), of.kernels.begin(), of.kernels.end());
    }
  }
  return names;
}

Names all_kernels(const Job& job) {
  Names names;
  for (const ListedOperator& of : operators_of(job)) {
    names.insert(names.end(), of.kernels.begin(), of.kernels.end());
  }
  return names;
}

const Names kGptForward{"triton_per_fused_add_native_layer_norm",
                        "sgemm",
                        "sgemm",
                        "triton_per_fused__softmax_div_where",
                        "sgemm",
                        "triton_poi_fused_clone",
                        "sgemm",
                        "triton_per_fused_add_native_layer_norm",
                        "sgemm",
                        "triton_poi_fused_add_mul_pow_tanh",
                        "sgemm"};

TEST(CompiledTransformer, LaunchesWhatInductorWroteForGpt2) {
  const Job job = job_of(distil_gpt2(), {.phases = Phases::Forward});
  for (int layer = 0; layer < 6; ++layer) {
    EXPECT_THAT(kernels_in(job, fmt::format("layer {}", layer)), ElementsAreArray(kGptForward));
  }
  EXPECT_THAT(kernels_in(job, "head"), ElementsAre("triton_per_fused_add_native_layer_norm", "sgemm"));
}

/// Kernels of a layer: each GEMM's gradients, and the sum of a bias's in two kernels. Dropout and the norm's
/// gradient are one kernel, that of its parameters another.
TEST(CompiledTransformer, LaunchesWhatInductorWroteForGpt2sBackward) {
  const Names linear{"sgemm", "sgemm", "triton_red_fused_sum", "triton_per_fused_sum"};
  const Names norm{"triton_per_fused_add_native_dropout_backward_native_layer_norm_backward",
                   "triton_per_fused_native_layer_norm_backward"};
  Names expected = kGptForward;
  const auto add = [&](const Names& names) { expected.insert(expected.end(), names.begin(), names.end()); };
  add(linear);
  add({"triton_poi_fused_add_mul_pow_tanh_backward"});
  add(linear);
  add(norm);
  add(linear);
  add({"sgemm", "sgemm", "triton_per_fused__softmax_backward_data_div_where", "sgemm", "sgemm",
       "triton_poi_fused_cat"});
  add(linear);
  add(norm);
  const Job job = job_of(distil_gpt2(), {});
  EXPECT_THAT(kernels_in(job, "layer 3"), ElementsAreArray(expected));
}

/// q, k and v with their biases in another layout, then the pattern that became an operator.
TEST(CompiledTransformer, FindsBertsAttention) {
  const Job job = job_of(bert(2), {.phases = Phases::Forward});
  EXPECT_THAT(kernels_in(job, "layer 1"),
              ElementsAre("sgemm", "sgemm", "sgemm", "triton_poi_fused_clone", "triton_poi_fused_clone",
                          "triton_poi_fused_clone", "fmha_cutlassF_f32", "sgemm",
                          "triton_per_fused_add_native_layer_norm", "sgemm", "triton_poi_fused_gelu", "sgemm",
                          "triton_per_fused_add_native_layer_norm"));
  const Names cast =
      kernels_in(job_of(bert(2), {.phases = Phases::Forward, .precision = Precision::BF16}), "layer 1");
  EXPECT_THAT(cast, ::testing::Contains("triton_per_fused__softmax_div_where"));
  EXPECT_THAT(cast, ::testing::Not(::testing::Contains(HasSubstr("fmha"))));
}

std::vector<LayerNorm> norms_of(const Job& job) {
  std::vector<LayerNorm> norms;
  const Program& program = *job.programs.front();
  for (const Instruction& i : program.threads.front().instructions) {
    if (i.op == Opcode::Launch) {
      if (const auto* norm = std::get_if<LayerNorm>(&program.kernels[i.operand].work)) {
        norms.push_back(*norm);
      }
    }
  }
  return norms;
}

/// Tables, then tables and a result with its bias (five reads: written); stream and result; these and a
/// second one (five: written); and so on.
TEST(CompiledTransformer, WritesTheResidualStreamWhenItReadsMoreThanFourBuffers) {
  const auto norms = norms_of(job_of(distil_gpt2(), {.phases = Phases::Forward}));
  ASSERT_EQ(norms.size(), 13U);
  const double tables = 2;  // one sample: as many rows of positions as of tokens
  EXPECT_EQ(norms[0].fused, (FusedPasses{tables, 1, tables}));
  EXPECT_EQ(norms[1].fused, (FusedPasses{tables + 1, 2, tables + 1}));
  EXPECT_EQ(norms[2].fused, (FusedPasses{2, 1, 2}));
  EXPECT_EQ(norms[3].fused, (FusedPasses{3, 2, 3}));
  EXPECT_EQ(norms[4].fused, (FusedPasses{2, 1, 2}));
}

/// Training without dropout: a result is one buffer, its product has added the bias. 1, 2, 3, 4, 5
/// (written), 2...
TEST(CompiledTransformer, KeepsTheNormalisedInputForBackward) {
  TransformerSpec spec = distil_gpt2();
  spec.dropout = false;
  const auto norms = norms_of(job_of(spec, {}));
  ASSERT_EQ(norms.size(), 13U);
  const std::vector<double> reads{1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 5};
  for (std::size_t i = 0; i < norms.size(); ++i) {
    EXPECT_EQ(norms[i].fused, (FusedPasses{reads[i], reads[i] == 5 ? 3.0 : 2.0, reads[i]})) << i;
  }
}

/// T2 of the region and of the backward graph once each, T5 before all other kernels.
TEST(CompiledTransformer, CostsTheHostAGraphAndItsLaunches) {
  const Job job = job_of(distil_gpt2(), {.phases = Phases::Forward});
  double leads = 0;
  std::size_t kernels = 0;
  for (const Instruction& i : job.programs.front()->threads.front().instructions) {
    if (i.op == Opcode::Launch) {
      leads += i.lead;
      ++kernels;
    }
  }
  const std::size_t copies = 1;  // of the tokens, an operator of its own that costs nothing on this host
  const std::size_t parameters = distil_gpt2().parameters().size();
  EXPECT_NEAR(leads * 1e6,
              35.4 + 2.2 * static_cast<double>(parameters) + 4.8 * static_cast<double>(kernels - copies - 1),
              0.01);
}

TEST(CompiledTransformer, LaunchesACudaGraphAtOnce) {
  const auto host_time = [](Compile compile) {
    const Job job = job_of(distil_gpt2(), {.phases = Phases::Forward, .compile = compile});
    double time = 0;
    for (const Instruction& i : job.programs.front()->threads.front().instructions) {
      time += i.op == Opcode::Launch ? i.lead + i.cost : 0;
    }
    return time * 1e6;
  };
  const double guards = 35.4 + 2.2 * static_cast<double>(distil_gpt2().parameters().size());
  EXPECT_NEAR(host_time(Compile::CudaGraphs), 4 + guards + 4, 0.01);  // copy of the tokens; the graph
  EXPECT_GT(host_time(Compile::Inductor), guards + 60 * 8.8);
}

/// DDPOptimizer: the first bucket is full after a layer of 28 MB, the others after 25 MiB, one layer each.
TEST(CompiledTransformer, CutsGraphsWhereBucketsAreFull) {
  const auto graphs = [](int ranks, const char* name) {
    const Job job = job_of(distil_gpt2(), {.ranks = ranks});
    const Program& program = *job.programs.front();
    std::ptrdiff_t count = 0;
    for (const Program::Thread& thread : program.threads) {
      count += std::ranges::count_if(thread.instructions, [&](const Instruction& i) {
        return i.op == Opcode::RangeBegin && program.names[i.operand] == name;
      });
    }
    return count;
  };
  EXPECT_EQ(graphs(1, kCompiledRegion), 1);
  EXPECT_EQ(graphs(1, kCompiledForward), 0);
  EXPECT_EQ(graphs(1, kCompiledBackward), 1);
  EXPECT_EQ(graphs(4, kCompiledForward), 6);
  EXPECT_EQ(graphs(4, kCompiledBackward), 7);
}

/// The optimizer is not compiled; gradients are those of the eager model.
TEST(CompiledTransformer, LeavesTheRestOfTheStepAsItIs) {
  const auto of = [](Compile compile) {
    Names names = all_kernels(job_of(distil_gpt2(), {.phases = Phases::Step, .compile = compile}));
    std::erase_if(names,
                  [](const std::string& name) { return name.find("multi_tensor") == std::string::npos; });
    return names;
  };
  EXPECT_FALSE(of(Compile::None).empty());
  EXPECT_EQ(of(Compile::Inductor), of(Compile::None));
}

/// Columns of the head's product: 50,257 columns of 16 bits are padded to rows of 16 bytes, of TF32 to 4
/// numbers, of FP32 not; backward copies the gradient of the logits for either product that reads it.
TEST(CompiledTransformer, PadsTheHeadForTensorCores) {
  const auto of = [](Precision precision, std::int64_t vocabulary) {
    TransformerSpec spec = distil_gpt2();
    spec.vocabulary = vocabulary;
    return job_of(spec, {.precision = precision});
  };
  const auto columns = [&](Precision precision) {
    std::int64_t most = 0;
    for (const KernelCall& call : of(precision, 50257).programs.front()->kernels) {
      const auto* gemm = std::get_if<Gemm>(&call.work);
      most = std::max(most, gemm != nullptr ? gemm->n : 0);
    }
    return most;
  };
  EXPECT_EQ(columns(Precision::BF16), 50264);
  EXPECT_EQ(columns(Precision::TF32), 50260);
  EXPECT_EQ(columns(Precision::FP32), 50257);
  const auto copies = [&](std::int64_t vocabulary) {
    return std::ranges::count(all_kernels(of(Precision::BF16, vocabulary)),
                              "triton_poi_fused_constant_pad_nd");
  };
  EXPECT_EQ(copies(50257), 2);
  EXPECT_EQ(copies(50304), 0);
}

/// A loader that has the next tokens: the gradient of the logits is one kernel by rows, not a sum and a
/// sliced result.
TEST(CompiledTransformer, NeedNotShiftLogits) {
  TransformerSpec spec = distil_gpt2();
  spec.shifts_logits = false;
  const Names names = all_kernels(job_of(spec, {}));
  EXPECT_EQ(std::ranges::count(names, "triton_poi_fused_add_slice_backward"), 0);
  EXPECT_EQ(std::ranges::count(names, "triton_red_fused__log_softmax_backward_data_nll_loss_backward"), 1);
}

// 511 or 512 rows of 50,257 numbers of four bytes are not kept.
TEST(CompiledTransformer, KeepsNoLogSoftmaxThatItRecomputes) {
  const TransformerSpec spec = distil_gpt2();
  const auto kept = [&](CompiledLoss loss) {
    const FrameworkSpec framework{.compile = Compile::Inductor, .compiled_loss = loss};
    return total(TransformerMemory{spec, 1, Precision::FP32, framework}.kept_by_head());
  };
  EXPECT_EQ(kept(CompiledLoss::Stored) - kept(CompiledLoss::Recomputed), Bytes{4.0 * 511 * 50257});
}

/// Later releases keep but two numbers of a row of the loss: nothing is written in FP32 forward, and one
/// kernel makes the gradient of the logits.
TEST(CompiledTransformer, MayRecomputeTheLossInBackward) {
  TransformerSpec spec = distil_gpt2();
  for (const bool shifts : {true, false}) {
    spec.shifts_logits = shifts;
    const Job job = job_of(spec, {.loss = CompiledLoss::Recomputed});
    const Names names = all_kernels(job);
    EXPECT_EQ(std::ranges::count(names, "triton_red_fused__log_softmax_prepare_softmax_online"), 1);
    EXPECT_EQ(std::ranges::count(names, "triton_red_fused__log_softmax"), 0);
    EXPECT_EQ(std::ranges::count_if(names,
                                    [](const std::string& name) {
                                      return name.find("nll_loss_backward") != std::string::npos;
                                    }),
              1)
        << shifts;
  }
}

}  // namespace
}  // namespace lockstep
