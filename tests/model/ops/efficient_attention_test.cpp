/// @file
/// Memory-efficient attention of Hugging Face's Llama: kernels by PyTorch's source and its profiler's list
/// (calibration/measurements/h100/pytorch_attention.csv), masks by that of transformers 4.38 and 5.

#include <gtest/gtest.h>

#include "tests/support/plan_job.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kSequence = 4096, kPositions = 8192, kLayers = 4, kElements = kSequence * 2048;

TransformerSpec llama() {
  TransformerSpec spec = small_llama(Implementation::HuggingFaceLlama);
  spec.positions = kPositions;
  spec.tied = false;
  return spec;
}

TransformerSpec efficient(bool masked = false) {
  TransformerSpec spec = llama();
  spec.attention = AttentionKernels::Efficient;
  spec.attention_mask = masked;
  spec.check();
  return spec;
}

Job alone(const TransformerSpec& spec, Precision precision = Precision::BF16,
          Transformers transformers = Transformers::V4) {
  return job_of(
      spec, {},
      {.ranks = 1, .batch = 1, .precision = precision, .framework = {.transformers = transformers}});
}

std::size_t launches(const Job& job, std::string_view name) {
  return launches_of(job, name).size();
}

std::size_t launches_of_size(const Job& job, std::string_view name, std::int64_t elements) {
  std::size_t count = 0;
  for (const KernelCall& call : launches_of(job, name)) {
    const auto* work = std::get_if<Pointwise>(&call.work);
    count += work != nullptr && work->elements == elements ? 1 : 0;
  }
  return count;
}

const FlashAttention& attention(const KernelCall& call) {
  return std::get<FlashAttention>(call.work);
}

/// Two kernels backward: queries' gradients are summed in FP32, from zeros.
TEST(EfficientAttention, TakesViewsInSixteenBits) {
  const Job job = alone(efficient()), flash = alone(llama());
  EXPECT_EQ(launches(job, "flash"), 0U);
  ASSERT_EQ(launches(job, "fmha_cutlassF"), 4U);
  ASSERT_EQ(launches(job, "fmha_cutlassB"), 4U);
  EXPECT_EQ(attention(launches_of(job, "fmha_cutlassB").front()).version, FlashVersion::MemoryEfficient);
  EXPECT_TRUE(attention(launches_of(job, "fmha_cutlassF").front()).causal);
  EXPECT_EQ(launches(job, "<copy>"), launches(flash, "<copy>"));
  const auto zeros = launches_of_size(job, "<fill>", kElements);
  EXPECT_EQ(zeros - launches_of_size(flash, "<fill>", kElements), 4U);
  EXPECT_DOUBLE_EQ(job.memory.front()[MemoryUse::Activations], flash.memory.front()[MemoryUse::Activations]);
}

/// In FP32 row sums of gradient times context are operators of their own.
TEST(EfficientAttention, SumsRowsBeforeInFp32) {
  const Job job = alone(efficient(), Precision::FP32);
  EXPECT_EQ(launches_of(job, "fmha_cutlassB").front().type, DataType::FP32);
  TransformerSpec unfused = llama();
  unfused.attention = AttentionKernels::Unfused;
  EXPECT_EQ(launches_of_size(job, "<copy>", kElements / 64), 4U);  // heads of 64
  EXPECT_EQ(launches_of_size(alone(unfused, Precision::FP32), "<copy>", kElements / 64), 0U);
}

/// 4.38: one mask of all positions, of which each layer picks its rows; queries, keys and values are copied.
TEST(EfficientAttention, GetsTheMaskOfTransformers4) {
  const Job job = alone(efficient(true)), without = alone(efficient());
  EXPECT_FALSE(attention(launches_of(job, "fmha_cutlassF").front()).causal);
  EXPECT_EQ(launches_of_size(job, "<index>", kSequence * kSequence), 4U);
  EXPECT_EQ(launches_of_size(job, "<copy>", kPositions * kPositions), 2U);
  const auto copies = launches_of_size(job, "<copy>", kElements);
  EXPECT_EQ(copies - launches_of_size(without, "<copy>", kElements), 3U * 4);
  const double more =
      job.memory.front()[MemoryUse::Activations] - without.memory.front()[MemoryUse::Activations];
  EXPECT_DOUBLE_EQ(more, 2.0 * (kLayers * kSequence * kSequence + kPositions * kPositions));
}

/// Keys and values that were repeated are contiguous.
TEST(EfficientAttention, CopiesOnlyQueriesOfSharedHeads) {
  TransformerSpec spec = efficient(true);
  spec.kv_heads = 8;
  TransformerSpec without = spec;
  without.attention_mask = false;
  const auto copies = [](const TransformerSpec& of) {
    return launches_of_size(alone(of), "elementwise_kernel<copy>", kElements);
  };
  EXPECT_EQ(copies(spec) - copies(without), 4U);
}

/// 5: booleans, which every layer makes numbers of; nothing is copied, and nobody looks for packed samples.
TEST(EfficientAttention, GetsTheMaskOfTransformers5) {
  const Job job = alone(efficient(true), Precision::BF16, Transformers::V5);
  const Job without = alone(efficient(), Precision::BF16, Transformers::V5);
  EXPECT_EQ(launches_of_size(job, "<logical_not>", kSequence * kSequence), 4U);
  EXPECT_EQ(launches_of_size(job, "<where>", kSequence * kSequence), 4U);
  EXPECT_EQ(launches(job, "<index>"), 1U);
  EXPECT_EQ(launches_of_size(job, "<copy>", kElements), launches_of_size(without, "<copy>", kElements));
  EXPECT_EQ(launches_of_size(job, "<sub>", kSequence), 0U);
  EXPECT_EQ(launches_of_size(without, "<sub>", kSequence), 1U);
}

TEST(EfficientAttention, HasKeysOfEachHead) {
  TransformerSpec spec = efficient();
  spec.kv_heads = 8;
  spec.repeats_kv_heads = false;
  EXPECT_THROW(spec.check(), FieldError);
  spec.attention = AttentionKernels::Flash;
  spec.attention_mask = true;
  EXPECT_THROW(spec.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
