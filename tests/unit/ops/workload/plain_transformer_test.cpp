// A GPT and an encoder of plain modules (`implementation: pytorch`), against steps that an H200 was recorded
// at: tests/data/h200_steps, tools/capture/transformer.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/parameters.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"
#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

TransformerSpec plain(const std::string& model, AttentionKernels attention) {
  TransformerSpec spec = shipped(model).transformer.value();
  spec.implementation = Implementation::PyTorch;
  spec.token_types = 0;
  spec.gelu = Gelu::Fused;
  spec.attention = attention;
  spec.input_on_device = true;
  spec.check();
  return spec;
}

/// Memsets and sums of split products are the library's and the reduction's own choice: models' times contain
/// them.
std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 30> kKinds{
      {{"Memset", ""},
       {"splitKreduce", ""},
       {"gather", "gather"},
       {"indexSelect", "gather"},
       {"fused_dropout", "dropout"},
       {"layer_norm", "layer norm"},
       {"GammaBeta", "layer norm"},
       {"gemm", "gemm"},
       {"nvjet", "gemm"},
       {"fprop", "attention"},
       {"bprop", "attention backward"},
       {"fmha_cutlassF", "attention"},
       {"fmha_cutlassB", "attention backward"},
       {"SoftMax", "softmax"},
       {"nll_loss", "loss"},
       {"reduce_kernel", "reduce"},
       {"CatArray", "concat"},
       {"multi_tensor", "optimizer"},
       {"kernel_with_index", "index"},
       {"RadixSortHistogram", "histogram"},
       {"RadixSortExclusiveSum", "exclusive sum"},
       {"Onesweep", "sort"},
       {"UniqueByKey", "unique"},
       {"CompactInit", "scan"},
       {"DeviceScan", "scan"},
       {"CUDAFunctor_add", "elementwise"},
       {"copy", "copy"},
       {"cast", "copy"},
       {"elementwise", "elementwise"},
       {"unpack_cudnn", "elementwise"}}};
  const std::string kind = testing::first_kind(kernel, kKinds);
  for (const char* const name : {"compute_dot_do_o", "convert_dq", "embedding_backward", "krn_partials",
                                 "compute_num_of_partial_segments", "krn_partial_segment_offset",
                                 "compute_grad_weight", "sum_and_scatter"}) {
    if (kernel.find(name) != std::string::npos) {
      return name;
    }
  }
  return kind;
}

std::vector<std::string> traced(const std::string& name) {
  const json trace = json::parse(gzip_text(LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/" + name));
  std::vector<std::pair<double, std::string>> kernels;
  for (const json& event : trace["traceEvents"]) {
    const std::string category = event.value("cat", "");
    if (category == "kernel" || category == "gpu_memcpy") {
      kernels.emplace_back(event["ts"].get<double>(), kind_of(event["name"]));
    }
  }
  std::sort(kernels.begin(), kernels.end());
  std::vector<std::string> kinds;
  for (const auto& [start, kind] : kernels) {
    if (!kind.empty()) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

std::vector<std::string> ours(const Job& job) {
  std::vector<std::string> kinds;
  for (const ListedOperator& op : operators_of(job)) {
    for (const std::string& kernel : op.kernels) {
      if (const std::string kind = kind_of(kernel); !kind.empty()) {
        kinds.push_back(kind);
      }
    }
  }
  return kinds;
}

void expect_equal(const std::vector<std::string>& mine, const std::vector<std::string>& real) {
  const auto [a, b] = std::mismatch(mine.begin(), mine.end(), real.begin(), real.end());
  EXPECT_EQ(mine, real) << "first difference at kernel " << a - mine.begin() << ": ours "
                        << (a == mine.end() ? "end" : *a) << ", traced " << (b == real.end() ? "end" : *b);
}

TEST(PlainTransformer, LaunchesWhatAnEncoderInTf32Did) {
  const Job job =
      job_of(plain("bert_base", AttentionKernels::Efficient), {.batch = 8, .precision = Precision::TF32});
  expect_equal(ours(job), traced("bert_b8_tf32.kineto.json.gz"));
}

TEST(PlainTransformer, LaunchesWhatAGptInBf16Did) {
  const Job job = job_of(plain("gpt2", AttentionKernels::CuDnn), {.batch = 4, .precision = Precision::BF16});
  expect_equal(ours(job), traced("gpt2_b4_bf16.kineto.json.gz"));
}

TEST(PlainTransformer, HasTheParametersOfItsModules) {
  // tools/capture/transformer.py: two tables, 12 layers of two norms and four nn.Linear with biases, a norm.
  const std::int64_t h = 768, layer = 4 * h + (3 * h * h + 3 * h) + (h * h + h) + (4 * h * h + 4 * h) +
                                      (4 * h * h + h);
  const auto parameters = plain("bert_base", AttentionKernels::CuDnn).parameters();
  EXPECT_EQ(std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0}),
            (30522 + 512) * h + 12 * layer + 2 * h);
  EXPECT_EQ(parameters.size(), 2U + 12 * 12 + 2);  // the recorded step has 2 x 148 of aten::item
}

TEST(PlainTransformer, KeepsItsResidualStreamOnceForThreeProjections) {
  // TF32, each layer: norms' inputs 2 E, first projection E, context E, first and second of feed-forward E
  // and F, queries, keys and values 3 E, GELU's input F, two masks of a byte, logarithms of the sums; E = 4 S
  // H bytes.
  const TransformerSpec spec = plain("bert_base", AttentionKernels::Efficient);
  const Job job = job_of(spec, {.batch = 8, .precision = Precision::TF32});
  const double tokens = 8.0 * 512, stream = 4 * tokens * 768, inner = 4 * stream;
  const double layer = 8 * stream + 2 * inner + 2 * stream / 4 + 4 * tokens * 12;
  const double kept = job.memory[0][MemoryUse::Activations];
  const double ends =
      stream / 4 + 2 * stream + 2 * 4 * tokens * 30522;  // dropout, norm and output, logits and loss
  EXPECT_NEAR(kept / (12 * layer + ends), 1, 0.01);
}

TEST(PlainTransformer, MustNameItsAttentionAndHasNoSegments) {
  TransformerSpec spec = plain("bert_base", AttentionKernels::Flash);
  spec.attention = AttentionKernels::Unfused;
  EXPECT_THROW(spec.check(), FieldError);
  spec.attention = AttentionKernels::Flash;
  spec.token_types = 2;
  EXPECT_THROW(spec.check(), FieldError);
  spec.token_types = 0;
  spec.classes = 2;
  EXPECT_THROW(spec.check(), FieldError);
  spec.classes.reset();
  spec.family = TransformerFamily::Opt;
  EXPECT_THROW(spec.check(), FieldError);
}

TEST(PlainTransformer, CopiesItsBatchUnlessItIsThere) {
  TransformerSpec spec = plain("gpt2", AttentionKernels::Flash);
  const lockstep::Run run{.batch = 4, .precision = Precision::BF16};
  EXPECT_EQ(count(job_of(spec, run), "aten::to"), 1);  // the logits, made FP32
  spec.input_on_device = false;
  EXPECT_EQ(count(job_of(spec, run), "aten::to"), 3);  // and tokens, and the next ones
}

}  // namespace
}  // namespace lockstep
