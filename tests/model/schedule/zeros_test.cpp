/// @file
/// Phases whose weights have zeros, jitter and single tables, held against what they are made of.

#include "schedule/zeros.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ops/model_flops.hpp"
#include "schedule/schedule_prediction.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

SchedulePrediction predicted(const std::string& text) {
  const YamlDocument document = YamlDocument::from_text(text, "scenario.yaml");
  const ConfigPath configs = ConfigPath::standard();
  const Timelines nobody{[](const auto&, const auto&, const auto&) { return TimelineRequest{}; }, [] {}};
  return predict_schedule(scheduled_scenario(document, configs), configs, document, nobody);
}

std::string gpt_on(const std::string& cluster, const std::string& precision = "bf16") {
  return "name: x\ncluster: " + cluster +
         "\nworkload: { model: { from: gpt3_1b3, transformer: { layers: 4 } }, global_batch: 16, "
         "precision: " +
         precision + " }\n";
}

std::string sparse_schedule(const std::string& sparsity) {
  return "schedule: { steps: 1000, phases: [{ name: sparse, until: 50 %, sparsity: " + sparsity +
         " }, { name: full, until: 100 % }] }\n";
}

// Two of the three products of each linear layer count half: forward and the input's gradient. A layer has 12
// h^2 weights, the output 50304 h.
TEST(Sparsity, TwoOfFourHalvesTwoOfThreeProducts) {
  const SchedulePrediction sparse = predicted(gpt_on("dgx_h100 x 1") + sparse_schedule("2:4"));
  const double tokens = 16.0 * 2048, hidden = 2048, weights = 4 * 12 * hidden * hidden + 50304 * hidden;
  EXPECT_NEAR(sparse.full.flops - sparse.phases[0].figures.flops, 2 * tokens * weights,
              1e-9 * sparse.full.flops);
  EXPECT_LT(sparse.phases[0].figures.step, sparse.full.step);
  EXPECT_GT(sparse.totals.time_saved(), 0);
  EXPECT_LT(sparse.totals.time_saved(), sparse.totals.flops_saved());
  EXPECT_EQ(sparse.transitions[0].seconds, 0);
}

TEST(Sparsity, ForwardAloneSavesHalfAsMuch) {
  const std::string base = gpt_on("dgx_h100 x 1");
  const SchedulePrediction both = predicted(base + sparse_schedule("2:4")),
                           forward = predicted(base + sparse_schedule("{ kind: 2:4, backward: false }"));
  EXPECT_NEAR(2 * (forward.full.flops - forward.phases[0].figures.flops),
              both.full.flops - both.phases[0].figures.flops, 1e-9 * both.full.flops);
  EXPECT_GT(forward.phases[0].figures.step, both.phases[0].figures.step);
}

// 16-bit weights with FP32 masters: the dense copy goes, two compressed ones of 9/16 come.
TEST(Sparsity, CompressedWeightsTakeNineSixteenthsForEachDirection) {
  const SchedulePrediction sparse = predicted(gpt_on("dgx_h100 x 1") + sparse_schedule("2:4"));
  const double more = (sparse.phases[0].figures.memory->used - sparse.full.memory->used).in_base_units();
  EXPECT_NEAR(more, 2 * sparse.full.parameters.value() / 8, 0.1 * more);  // and a share of fragmentation
}

std::string complaint(const std::string& text) {
  try {
    (void)predicted(text);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "";
}

TEST(Sparsity, NeedsTensorCoresThatSkipZeros) {
  EXPECT_THAT(complaint(gpt_on("dgx1v x 1", "fp16") + sparse_schedule("2:4")),
              HasSubstr("has no sparse tensor cores, which GPUs have since Ampere"));
  EXPECT_THAT(
      complaint("name: x\ncluster: dgx_a100 x 1\nworkload: { model: dlrm_default, global_batch: 16384 "
                "}\n" +
                sparse_schedule("2:4")),
      HasSubstr("2:4 products are written of fp16 and bf16, not of fp32"));
  EXPECT_THAT(complaint(gpt_on("dgx_h100 x 1") + sparse_schedule("1:2")),
              HasSubstr("zeros without structure are a 'mask'"));
}

TEST(Sparsity, ASparseEndIsNoFullSize) {
  EXPECT_THAT(complaint(gpt_on("dgx_h100 x 1") +
                        "schedule: { steps: 100, phases: [{ name: thin, until: 100 %, sparsity: 2:4 }] }\n"),
              HasSubstr("the last phase ('thin') does not train the full model"));
}

// With jitter a phase's step is the mean over seeds 1, 2 and 3.
TEST(Seeds, StepsAreMeansOverThem) {
  const std::string base =
      "name: x\ncluster: dgx_a100 x 1\nworkload: { model: dlrm_default, global_batch: 16384 }\nvary: { "
      "kernels: "
      "lognormal 0.2, seed: ";
  const auto step = [&](int seed, int seeds) {
    return predicted(
               fmt::format("{}{} }}\nschedule: {{ steps: 100, seeds: {}, phases: [{{ name: full, until: 100 "
                           "% }}] }}\n",
                           base, seed, seeds))
        .full.step;
  };
  EXPECT_NEAR(step(1, 3), (step(1, 1) + step(2, 1) + step(3, 1)) / 3, 1e-15);
  EXPECT_NE(step(1, 1), step(2, 1));
}

TEST(Tables, SingleOnesShrinkWhereTheyAre) {
  const std::string base =
      "name: x\ncluster: dgx_a100 x 1\nworkload: { model: dlrm_default, global_batch: 16384 }\n";
  const SchedulePrediction less = predicted(base +
                                            "schedule: { steps: 100, phases: [{ name: small, until: 50 %, "
                                            "tables: [{ tables: [0, 3], rows: 0.5 }] }, { "
                                            "name: full, until: 100 % }] }\n");
  ASSERT_EQ(less.phases[0].widths.size(), 2U);
  EXPECT_EQ(less.phases[0].widths[1].table, 3);
  EXPECT_EQ(less.phases[0].widths[1].kept, "500000 x 64");
  double filled = 0;
  for (const TableWork& of_rank : less.transitions[0].work.tables) filled += of_rank.filled;
  EXPECT_NEAR(filled, 2 * 500000.0 * 64 * 4, 1);  // SGD keeps no sums
  EXPECT_THAT(
      complaint(base + "schedule: { steps: 100, phases: [{ name: a, until: 50 %, tables: [{ tables: [8], "
                       "rows: 0.5 }] }, { name: full, until: 100 % }] }\n"),
      HasSubstr("0 to 7: there is no 8"));
  EXPECT_THAT(
      complaint(base + "schedule: { steps: 100, phases: [{ name: a, until: 50 %, tables: [{ tables: [1], "
                       "dimension: 0.5 }] }, { name: full, until: 100 % }] }\n"),
      HasSubstr("a dot interaction needs one dimension for all tables"));
}

}  // namespace
}  // namespace lockstep
