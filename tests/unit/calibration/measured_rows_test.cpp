#include "calibration/measured_rows.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"
#include "ops/kernel_model.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

ConfigPath shipped() {
  return ConfigPath{{LOCKSTEP_SOURCE_DIR}};
}

std::vector<PredictedTimes> kernels(const ScenarioSettings& row) {
  return predict_kernels(std::vector{row}, shipped());
}

std::vector<PredictedTimes> collectives(const ScenarioSettings& row) {
  return predict_collectives(std::vector{row}, shipped());
}

template <class Predict>
std::string complaint_of(const Predict& predict) {
  try {
    (void)predict();
    return "";
  } catch (const InputError& problem) {
    return problem.what();
  }
}

const ScenarioSettings kProduct{{"gpu", "v100_32gb_pcie"},
                                {"family", "gemm"},
                                {"type", "fp32"},
                                {"batch", "1"},
                                {"m", "4096"},
                                {"n", "1024"},
                                {"k", "512"},
                                {"layout", "nt"}};

TEST(MeasuredRows, AKernelTakesWhatItsModelSays) {
  const KernelCall call{"gemm", DataType::FP32, Gemm{1, 4096, 1024, 512, false, true}};
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb_pcie.yaml", shipped());
  const Prediction expected = model_for(call).predict(call, gpu);
  const PredictedTimes times = kernels(kProduct).at(0);
  EXPECT_EQ(times.step, expected.duration);
  EXPECT_EQ(times.band, band_alone(expected.band));
}

// Products were checked up to a size (ops/kernels/gemm.cpp), as `lockstep run` warns.
TEST(MeasuredRows, SayWhetherTheModelWasCheckedThere) {
  ScenarioSettings long_product = kProduct;
  long_product["m"] = "100000000";
  EXPECT_TRUE(kernels(kProduct).at(0).in_range);
  EXPECT_FALSE(kernels(long_product).at(0).in_range);
}

TEST(MeasuredRows, TablesThatAreAlikeNeedNoList) {
  const ScenarioSettings few{{"gpu", "v100_16gb"}, {"family", "embedding_forward"},
                             {"type", "fp32"},     {"batch", "2048"},
                             {"tables", "2"},      {"rows", "1000000"},
                             {"dimension", "64"},  {"pooling", "32"},
                             {"reuse", "0"},       {"optimizer", "sgd"}};
  const ScenarioSettings listed{{"gpu", "v100_16gb"},
                                {"family", "embedding_forward"},
                                {"type", "fp32"},
                                {"batch", "2048"},
                                {"tables", "1000000x64x32x0,1000000x64x32x0"},
                                {"optimizer", "sgd"}};
  EXPECT_EQ(kernels(few).at(0).step, kernels(listed).at(0).step);
}

TEST(MeasuredRows, AnAllReduceOnTwoGpusMovesItsSize) {
  const auto time = [](const std::string& bytes) {
    return collectives({{"cluster", "dgx_a100 x 1"},
                        {"profile", "ideal"},
                        {"collective", "all_reduce"},
                        {"gpus", "2"},
                        {"bytes", bytes}})
        .at(0)
        .step;
  };
  // 2 (n - 1) / n = 1 times the size leaves each GPU; twelve NVLinks carry 282 GB/s of payload. The latencies
  // of the routes go in the difference.
  EXPECT_NEAR((time("2e9") - time("1e9")) / (1e9 * 1_B / 282_GBps), 1, 0.01);
}

TEST(MeasuredRows, WhatIsWrongWithARowIsSaidWithIt) {
  ScenarioSettings row = kProduct;
  row["layuot"] = "nt";
  EXPECT_THAT(kernels(row).at(0).refused, HasSubstr("there is no layuot= - did you mean 'layout'"));
  row = kProduct;
  row.erase("gpu");
  EXPECT_THAT(kernels(row).at(0).refused, HasSubstr("does not say its 'gpu'"));
  ScenarioSettings collective{{"cluster", "dgx_a100 x 1"},
                              {"profile", "ideal"},
                              {"collective", "all_reduce"},
                              {"gpus", "16"},
                              {"bytes", "8"}};
  const auto refused = [&] { return collectives(collective).at(0).refused; };
  EXPECT_THAT(refused(), HasSubstr("1 x 16 GPUs"));
  collective["bytes"] = "many";
  EXPECT_THAT(refused(), HasSubstr("bytes: 'many' is no whole number"));
  collective["bytes"] = "8";
  collective["gpus"] = "2.5";
  EXPECT_THAT(refused(), HasSubstr("gpus: '2.5' is no whole number of at least 1"));
  collective["gpus"] = "1";
  EXPECT_THAT(refused(), HasSubstr("gpus: a collective has 2 or more, not 1"));
  collective["gpus"] = "8";
  collective["size"] = "8";
  EXPECT_THAT(refused(), HasSubstr("'size'"));
  collective.erase("size");
  collective["protocl"] = "ll";
  EXPECT_THAT(refused(), HasSubstr("did you mean 'protocol'"));
}

/// Two nodes of two GPUs; LL sends eight bytes for four, Simple four, and a tree is no ring.
TEST(MeasuredRows, ACollectiveTakesTheSettingsOfAScenario) {
  ScenarioSettings row{{"cluster", "dgx_a100 x 2"},
                       {"profile", "dgx_a100"},
                       {"collective", "all_reduce"},
                       {"nodes", "2"},
                       {"gpus", "4"},
                       {"bytes", "1e9"}};
  const auto time = [&] {
    const PredictedTimes times = collectives(row).at(0);
    EXPECT_EQ(times.refused, "");
    return times.step;
  };
  row["protocol"] = "Simple";
  row["all_reduce"] = "ring";
  const Seconds ring = time();
  row["all_reduce"] = "tree";
  EXPECT_NE(time(), ring);
  row["all_reduce"] = "ring";
  row["protocol"] = "LL";
  EXPECT_GT(time() / ring, 1.5);
  row["protocol"] = "Simple";
  row["net_gdr_level"] = "LOC";  // by way of host memory
  EXPECT_GT(time(), ring);
}

/// Each GPU sends its bytes to the next one while it receives as many: twelve NVLinks carry 282 GB/s of
/// payload each way. Between two nodes of four the two GPUs at the ends send over a NIC each, 24.6 GB/s of
/// payload.
TEST(MeasuredRows, SendsAndReceivesGoRoundAtOnce) {
  ScenarioSettings row{{"cluster", "dgx_a100 x 2"},
                       {"profile", "ideal"},
                       {"collective", "sendrecv"},
                       {"gpus", "8"},
                       {"bytes", "1e9"}};
  const auto rate = [&](const char* less, const char* more) {
    const auto time = [&](const char* bytes) {
      row["bytes"] = bytes;
      return collectives(row).at(0).step;
    };
    return 1e9 * 1_B / (time(more) - time(less));
  };
  EXPECT_NEAR(rate("1e9", "2e9") / 282_GBps, 1, 0.01);
  row["nodes"] = "2";
  EXPECT_NEAR(rate("1e9", "2e9") / 24.6_GBps, 1, 0.05);
}

class KernelSet : public ::testing::Test {
 protected:
  Validation validated(const std::string& more) {
    folder_.write("a.csv", "n,us\n1024,400\n1024,90\n");
    folder_.write("b.csv", "n,us\n2048,800\n");
    const auto set = read_text<ValidationSet>(
        "name: few\ntitle: few products\nsource: a test\npredicts: kernel\nunit: 1 us\nmeasured: { step: us "
        "}\n"
        "tables: { a.csv: { gpu: v100_32gb_pcie }, b.csv: { gpu: a100_40gb_pcie } }\n"
        "scenario: { family: gemm, type: fp32, layout: nn, batch: 1, m: 1024, k: 1024 }\n"
        "copied: { n: n }\n" +
            more,
        "few.yaml");
    return validate(set, folder_.path(),
                    [&](std::span<const ScenarioSettings> rows) { return predict_kernels(rows, shipped()); });
  }

  test::ScratchFolder folder_;
};

TEST_F(KernelSet, RowsOfSeveralTablesAreComparedAndShortOnesCounted) {
  const Validation validation =
      validated("shortest: 100 us\ngroups: [table]\naims: [{ of: kernel, figure: mean, below: 0.5 }]\n");
  ASSERT_EQ(validation.points.size(), 2U);
  EXPECT_EQ(validation.left_out, 1U);
  EXPECT_EQ(validation.points[1].labels.at(0), "b");
  const std::string text = validation_text(validation);
  EXPECT_THAT(text, HasSubstr("kernel time, us"));
  EXPECT_THAT(text, HasSubstr("table b"));
  EXPECT_THAT(validation_summary({&validation, 1}), HasSubstr("few                              kernel"));
  EXPECT_EQ(reached_aims(validation).size(), 1U);
}

TEST_F(KernelSet, WhatIsWrongWithARowIsSaidAtItsLine) {
  folder_.write("c.csv", "n,us\n1024,400\n0.5,90\n");
  const auto set = read_text<ValidationSet>(
      "name: bad\ntitle: t\nsource: s\npredicts: kernel\nunit: 1 us\nmeasured: { step: us }\ntable: c.csv\n"
      "scenario: { gpu: v100_32gb_pcie, family: gemm, type: fp32, layout: nn, batch: 1, m: 1024, k: 1024 }\n"
      "copied: { n: n }\n",
      "bad.yaml");
  const auto predict = [&](std::span<const ScenarioSettings> rows) {
    return predict_kernels(rows, shipped());
  };
  const Validation validation = validate(set, folder_.path(), predict);
  EXPECT_EQ(validation.points.size(), 1U);
  ASSERT_EQ(validation.refused.size(), 1U);
  EXPECT_EQ(validation.refused[0].at.line, 3);
  EXPECT_THAT(validation_text(validation),
              AllOf(HasSubstr("1 of 2 rows are refused"), HasSubstr("\n        c.csv:3\n")));
}

TEST_F(KernelSet, RowsThatAreAllTooShortAreNotWheres) {
  EXPECT_THAT(complaint_of([&] { return validated("shortest: 1 s\n"); }),
              HasSubstr("none of the 3 rows that set 'few' asks for took 1 s or more (shortest)"));
}

TEST_F(KernelSet, AimsAreOfWhatTheSetPredicts) {
  EXPECT_THAT(complaint_of([&] { return validated("aims: [{ figure: mean, below: 0.5 }]\n"); }),
              HasSubstr("an aim is 'of' what the set predicts"));
  EXPECT_THAT(complaint_of([&] { return validated("table: a.csv\n"); }),
              HasSubstr("either one 'table' or several"));
}

}  // namespace
}  // namespace lockstep
