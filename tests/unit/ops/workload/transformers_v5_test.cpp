// Models of Hugging Face's as transformers 5.17 writes them: what PyTorch 2.11's profiler listed of their
// steps on an H100 and an H200 (calibration/measurements/*/variant_kernels.csv).

#include <gtest/gtest.h>

#include "ops/workload/xlnet.hpp"
#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

std::int64_t waits_of(const Job& job) {
  std::int64_t waits = 0;
  for (const Instruction& i : job.programs[0]->threads[0].instructions) {
    waits += i.op == Opcode::WaitStream ? 1 : 0;
  }
  return waits;
}

TransformerSpec two_layers(const char* model) {
  TransformerSpec spec = shipped(model).transformer.value();
  spec.layers = 2;
  spec.input_on_device = true;
  return spec;
}

Run v5(Precision precision = Precision::BF16) {
  return {.batch = 4, .precision = precision, .transformers = Transformers::V5};
}

/// One mask, of which the host copies a zero; scores plus it are FP32, so that softmax casts nothing.
TEST(TransformersV5, OptWaitsOnceAndAddsAWideMask) {
  const Job job = job_of(two_layers("opt_1b3"), v5());
  EXPECT_EQ(waits_of(job), 1);
  EXPECT_EQ(count(job, "vectorized_elementwise_kernel<maximum>"), 0);
  EXPECT_EQ(count(job, "elementwise_kernel<where>"), 1);
  EXPECT_EQ(count(job, "softmax_warp_forward"), 2);
  const Job old = job_of(two_layers("opt_1b3"), {.batch = 4, .precision = Precision::BF16});
  EXPECT_DOUBLE_EQ(gemm_flops(job), gemm_flops(old));
}

/// The host reads whether samples are packed, and copies a zero for the mask that unfused attention wants.
TEST(TransformersV5, Gpt2LooksForPackedSamples) {
  TransformerSpec gpt2 = two_layers("gpt2");
  EXPECT_EQ(waits_of(job_of(gpt2, v5())), 2);
  gpt2.attention = AttentionKernels::CuDnn;
  EXPECT_EQ(waits_of(job_of(gpt2, v5())), 1);
}

TEST(TransformersV5, BertWithoutPaddingHasNoMask) {
  const Job job = job_of(two_layers("bert_base"), v5(Precision::FP32));
  const Job old = job_of(two_layers("bert_base"), {.batch = 4});
  const std::string add = "elementwise_kernel<add>";
  EXPECT_EQ(count(old, add) - count(job, add), 2);
  EXPECT_EQ(waits_of(job), 0);
}

/// Labels are shifted: the loss is of all logits, in FP32, and nothing of their size is copied.
TEST(TransformersV5, ShiftsLabels) {
  const Job job = job_of(two_layers("gpt2"), v5());
  EXPECT_EQ(count(job, "aten::pad"), 1);
  EXPECT_EQ(count(job, "SliceBackward0"), 0);
}

/// Self-attention's bias learns, so that PyTorch writes out softmax; cross-attention is a kernel.
TEST(TransformersV5, T5AttendsByScaledDotProductAttention) {
  EncoderDecoderSpec t5 = shipped("t5_base").encoder_decoder.value();
  t5.layers = 2;
  t5.decoder_layers = 2;
  t5.input_on_device = true;
  t5.cross_attention = AttentionKernels::CuDnn;
  const Job job = job_of(t5, v5());
  EXPECT_EQ(count(job, "SafeSoftmaxBackward0"), 4);
  EXPECT_EQ(count(job, "softmax_warp_forward"), 4);
  EXPECT_EQ(count(job, "sdpa_forward"), 2);
  EXPECT_EQ(count(job, "sdpa_backward"), 2);
  EXPECT_EQ(count(job, "convert_dq"), 2);
  const Job wide = job_of(t5, v5(Precision::TF32));
  EXPECT_EQ(count(wide, "convert_dq"), 0) << "xFormers' has none";
  EXPECT_EQ(count(wide, "sdpa_forward"), 2);
}

TEST(TransformersV5, XlnetMakesDistancesOnTheGpu) {
  XlnetSpec xlnet = shipped("xlnet_base").xlnet.value();
  xlnet.layers = 2;
  xlnet.input_on_device = true;
  xlnet.attention_mask = false;
  EXPECT_EQ(waits_of(job_by(xlnet_job, xlnet, v5())), 0);
  EXPECT_EQ(waits_of(job_by(xlnet_job, xlnet, {.batch = 4})), 1);
}

TEST(TransformersV5, IsHuggingFacesAlone) {
  ModelSpec model = shipped("switch_base_8");
  model.framework.transformers = Transformers::V5;
  EXPECT_THROW(model.check(), FieldError);
  model = shipped("gpt3_1b3");
  model.framework.transformers = Transformers::V5;
  EXPECT_THROW(model.check(), FieldError);
  model = shipped("gpt2");
  model.framework.transformers = Transformers::V5;
  EXPECT_NO_THROW(model.check());
  model.framework.compile = Compile::Inductor;
  EXPECT_THROW(model.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
