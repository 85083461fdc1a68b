/// @file
/// Layers of Hugging Face's models that are recomputed.

#include "ops/workload/transformer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/workload/hugging_face_step.hpp"
#include "tests/support/transformer_job.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

/// Layers' products a third time as forward, those of the head (its table) not; a layer keeps its input
/// alone, and all that it keeps otherwise while its backward runs.
TEST(Transformer, ComputesLayersAgain) {
  const Job kept = job_of("gpt2", {.batch = 2}),
            recomputed = job_of("gpt2", {.batch = 2, .recompute = Recompute::Full});
  const double head = 6.0 * 2 * 1024 * 50257 * 768;
  EXPECT_NEAR((gemm_flops(recomputed) - head) / (gemm_flops(kept) - head), 4.0 / 3, 1e-9);
  const auto activations = [](const Job& job) { return job.memory.front()[MemoryUse::Activations]; };
  EXPECT_LT(activations(recomputed), activations(kept) / 3);
  EXPECT_THROW((void)job_of("gpt2", {.recompute = Recompute::Selective}), std::invalid_argument);
}

/// torch.utils.checkpoint without re-entrance: GPT-2's last sum of each layer is not recomputed, without
/// dropout neither its last product (of 24 h^2 S, 8); BERT ends with a norm, whose means are read.
TEST(Transformer, StopsComputingAgainWhereBackwardHasAll) {
  const auto of = [](const char* name, bool dropout, bool stops) {
    TransformerSpec spec = shipped(name).transformer.value();
    spec.dropout = dropout;
    return job_of(spec, {.batch = 2, .recompute = Recompute::Full, .early_stop = stops});
  };
  EXPECT_EQ(count(of("gpt2", true, false), "aten::add") - count(of("gpt2", true, true), "aten::add"), 12);
  EXPECT_EQ(gemm_flops(of("gpt2", true, true)), gemm_flops(of("gpt2", true, false)));
  const double last_products = 12.0 * 2 * 2 * 1024 * 768 * 3072;
  EXPECT_NEAR(gemm_flops(of("gpt2", false, false)) - gemm_flops(of("gpt2", false, true)), last_products, 1e3);
  EXPECT_EQ(operators_of(of("bert_base", true, true)).size(),
            operators_of(of("bert_base", true, false)).size());
}

/// Every third of twelve layers is recomputed; the others keep their activations.
TEST(Transformer, ComputesEveryThirdLayerAgain) {
  const auto of = [](int every) {
    return job_of("gpt2", {.batch = 2, .recompute = Recompute::Full, .every = every});
  };
  const Job kept = job_of("gpt2", {.batch = 2}), all = of(1), third = of(3);
  EXPECT_NEAR(gemm_flops(third) - gemm_flops(kept), (gemm_flops(all) - gemm_flops(kept)) / 3, 1e3);
  const auto activations = [](const Job& job) { return job.memory.front()[MemoryUse::Activations]; };
  EXPECT_LT(activations(all), activations(third));
  EXPECT_LT(activations(third), activations(kept));
}

/// An output with a weight of its own: one more parameter, whose gradient is added to nothing.
TEST(Transformer, HasAnOutputOfItsOwn) {
  TransformerSpec spec = shipped("gpt2").transformer.value();
  const Job tied = job_of(spec, {.batch = 2});
  spec.tied = false;
  spec.check();
  const Job untied = job_of(spec, {.batch = 2});
  EXPECT_EQ(gemm_flops(untied), gemm_flops(tied));
  EXPECT_EQ(count(untied, "aten::add") + 1, count(tied, "aten::add"));
  const auto parameters = [](const Job& job) { return job.memory.front()[MemoryUse::Parameters]; };
  EXPECT_DOUBLE_EQ(parameters(untied) - parameters(tied), 4.0 * 50257 * 768);
  spec.classes = 2;
  EXPECT_THROW(spec.check(), FieldError);
}

TEST(Transformer, NamesTheKeysThatItsModelsDoNotHave) {
  TrainingSetup setup;
  setup.parallelism.transformer = {.tensor = 2, .context = 2, .recompute = Recompute::Full};
  try {
    check_hugging_face(setup, true);
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("'tensor', 'context' need a model with"));
  }
  setup.parallelism.transformer = {.recompute_early_stop = true};
  EXPECT_THROW(check_hugging_face(setup, true), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
