// OPT as Hugging Face writes it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(Opt, MultipliesLikeAGptOfItsShape) {
  TransformerSpec opt = shipped("opt_1b3").transformer.value();
  opt.layers = 2;
  TransformerSpec gpt = opt;
  gpt.family = TransformerFamily::Gpt;
  EXPECT_DOUBLE_EQ(gemm_flops(job_of(opt, {})), gemm_flops(job_of(gpt, {})));
}

TEST(Opt, WaitsInEveryLayerAndDropsNoScores) {
  TransformerSpec opt = shipped("opt_1b3").transformer.value();
  opt.layers = 2;
  opt.blocking_input_copies = false;
  const Job job = job_of(opt, {});
  std::int64_t waits = 0;
  for (const Instruction& i : job.programs[0]->threads[0].instructions) {
    waits += i.op == Opcode::WaitStream ? 1 : 0;
  }
  EXPECT_EQ(waits, 2) << "torch.tensor(finfo.min, device=...) copies from pageable memory";
  EXPECT_EQ(count(job, "fused_dropout_kernel_vec"), 4) << "behind attention and feed-forward";
  EXPECT_EQ(count(job, "vectorized_elementwise_kernel<relu>"), 2);
}

TEST(Opt, IsHuggingFacesCodeAlone) {
  EXPECT_THAT(
      [] {
        read_text<TransformerSpec>(
            "{ family: opt, layers: 2, hidden: 64, heads: 2, vocabulary: 100, positions: 32, sequence: 16, "
            "implementation: megatron }",
            "model.yaml");
      },
      ::testing::ThrowsMessage<InputError>(HasSubstr("'opt' is Hugging Face's code")));
}

}  // namespace
}  // namespace lockstep
