/// @file
/// Device memory of Hugging Face's models against sums over what autograd saves.

#include <gtest/gtest.h>

#include <numeric>

#include "base/yaml_reader.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/transformer.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

TransformerSpec shipped(const std::string& name) {
  return *read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + name + ".yaml").transformer;
}

MemoryBreakdown memory_of(const TransformerSpec& spec, Precision precision, int ranks = 1) {
  std::vector<VertexId> gpus(static_cast<std::size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0U);
  TrainingSetup setup;
  setup.global_batch = std::int64_t{8} * ranks;
  setup.precision = precision;
  setup.host = plain_host();
  setup.gpus = gpus;
  return transformer_job(spec, setup).memory.at(0);
}

double activations_of_layer(TransformerSpec spec, Precision precision) {
  const double before = memory_of(spec, precision)[MemoryUse::Activations];
  ++spec.layers;
  return memory_of(spec, precision)[MemoryUse::Activations] - before;
}

/// In bytes, with sbh = 1024 x 8 x 768, feed-forward 4h and as/h = 16. Mixed: norms 2 x 4, products' inputs
/// 2 (1 + 1 + 4), queries to context 2 x 4, masks 2, gelu_new 4 x 12 + 2 x 4; scores 4 + 1 + 2. FP32: 8, 24,
/// 16, 2, 48 + 16; 4 + 1 + 4. With flash attention the scores go, and 4 bytes a token and head stay: 4 a / h
/// = 1 / 16.
TEST(HuggingFaceMemory, KeepsWhatAutogradSaves) {
  TransformerSpec gpt2 = shipped("gpt2");
  const double sbh = 1024.0 * 8 * 768, as = 12.0 * 1024 / 768;
  gpt2.gelu = Gelu::Composed;
  EXPECT_DOUBLE_EQ(activations_of_layer(gpt2, Precision::BF16), sbh * (8 + 12 + 8 + 2 + 56 + 7 * as));
  EXPECT_DOUBLE_EQ(activations_of_layer(gpt2, Precision::FP32), sbh * (8 + 24 + 16 + 2 + 64 + 9 * as));
  gpt2.gelu = Gelu::Fused;
  EXPECT_DOUBLE_EQ(activations_of_layer(gpt2, Precision::BF16), sbh * (8 + 12 + 8 + 2 + 8 + 7 * as));
  gpt2.attention = AttentionKernels::Flash;
  EXPECT_DOUBLE_EQ(activations_of_layer(gpt2, Precision::BF16), sbh * (8 + 12 + 8 + 2 + 8 + 1.0 / 16));
  gpt2.dropout = false;
  EXPECT_DOUBLE_EQ(activations_of_layer(gpt2, Precision::BF16), sbh * (8 + 12 + 8 + 8 + 1.0 / 16));
}

/// BERT's three projections cast their input each; else as GPT-2: 512 tokens, 12 heads, h 768.
TEST(HuggingFaceMemory, BertCastsItsInputThreeTimes) {
  TransformerSpec bert = shipped("bert_base");
  bert.gelu = Gelu::Fused;
  bert.attention = AttentionKernels::Unfused;
  const auto s = static_cast<double>(bert.sequence);
  const double sbh = s * 8 * 768, as = 12.0 * s / 768;
  EXPECT_DOUBLE_EQ(activations_of_layer(bert, Precision::BF16), sbh * (8 + 16 + 8 + 2 + 8 + 7 * as));
  EXPECT_DOUBLE_EQ(activations_of_layer(bert, Precision::FP32), sbh * (8 + 24 + 16 + 2 + 16 + 9 * as));
}

/// Parameters and two moments in FP32; mixed precision casts 12 h^2 a layer and the tied table besides;
/// DistributedDataParallel's buckets hold the gradients once more.
TEST(HuggingFaceMemory, HoldsStatesInFp32) {
  const TransformerSpec gpt2 = shipped("gpt2");
  const std::vector<std::int64_t> all = gpt2.parameters();
  const auto parameters = static_cast<double>(std::accumulate(all.begin(), all.end(), std::int64_t{0}));
  const MemoryBreakdown one = memory_of(gpt2, Precision::FP32), two = memory_of(gpt2, Precision::FP32, 2);
  EXPECT_DOUBLE_EQ(one[MemoryUse::Parameters], 4 * parameters);
  EXPECT_DOUBLE_EQ(one[MemoryUse::Optimizer], 8 * parameters);
  EXPECT_EQ(one[MemoryUse::Communication], 0);
  EXPECT_DOUBLE_EQ(two[MemoryUse::Communication], 4 * parameters);
  EXPECT_DOUBLE_EQ(memory_of(gpt2, Precision::BF16)[MemoryUse::Parameters],
                   4 * parameters + 2 * (12 * 12.0 * 768 * 768 + 50257.0 * 768));
}

}  // namespace
}  // namespace lockstep
