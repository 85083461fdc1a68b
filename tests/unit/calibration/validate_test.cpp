#include "calibration/validate.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/validation_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using testing::HasSubstr;

ValidationSet two_gpus() {
  return read_text<ValidationSet>(R"(
name: two_gpus
title: two GPUs
source: a test
table: steps.csv
unit: 1 ms
measured: { step: ms, gpu_busy: busy_ms }
others: [{ name: theirs, meaning: another tool, step_error: off_pct }]
scenario: { steps: 2 }
rows: { gpu: { V100: { gpu: v100_16gb }, P100: { gpu: p100_16gb_pcie, steps: 4 } } }
copied: { batch: workload.global_batch }
)",
                                  "two_gpus.yaml");
}

class ValidateTable : public testing::Test {
 protected:
  Validation validate_rows(const std::string& rows, const PredictRow& predict) {
    folder_.write("steps.csv", "gpu,batch,ms,busy_ms,off_pct\n" + rows);
    return validate(two_gpus(), folder_.path(), predict);
  }

  test::ScratchFolder folder_;
};

TEST_F(ValidateTable, ARowSetsTheScenarioThroughItsCells) {
  std::vector<ScenarioSettings> asked;
  const auto predict = [&](const ScenarioSettings& settings) {
    asked.push_back(settings);
    return PredictedTimes{1_ms, 1_ms};
  };
  static_cast<void>(validate_rows("V100,512,1,1,0\nP100,1024,1,1,0\n", predict));
  EXPECT_EQ(asked, (std::vector<ScenarioSettings>{
                       {{"gpu", "v100_16gb"}, {"steps", "2"}, {"workload.global_batch", "512"}},
                       {{"gpu", "p100_16gb_pcie"}, {"steps", "4"}, {"workload.global_batch", "1024"}}}));
}

TEST_F(ValidateTable, ErrorsAreRelativeToWhatWasMeasured) {
  const auto predict = [](const ScenarioSettings&) { return PredictedTimes{11_ms, 4_ms}; };
  const Validation validation = validate_rows("V100,512,10,5,-2.5\nP100,512,10,5,5\n", predict);
  ASSERT_EQ(validation.points.size(), 2U);
  EXPECT_NEAR(validation.points[0].step.error(), 0.1, 1e-12);
  EXPECT_NEAR(validation.points[0].gpu_busy->error(), -0.2, 1e-12);
  EXPECT_NEAR(*validation.points[0].step.others[0], -0.025, 1e-12);
  EXPECT_FALSE(validation.points[0].gpu_busy->others[0].has_value());
}

TEST_F(ValidateTable, FiguresAreByCellAndOverall) {
  const auto predict = [](const ScenarioSettings& settings) {
    return PredictedTimes{settings.at("gpu") == "v100_16gb" ? 11_ms : 8_ms, 5_ms};
  };
  const Validation validation = validate_rows("V100,512,10,5,-2\nP100,512,10,5,4\n", predict);
  const auto lines = error_lines(validation, ComparedQuantity::Step);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].cell, "V100");
  EXPECT_NEAR(lines[0].ours.mean, 0.1, 1e-12);
  EXPECT_EQ(lines[1].cell, "P100");
  EXPECT_NEAR(lines[1].ours.bias, -0.2, 1e-12);
  EXPECT_EQ(lines[2].column, "");
  EXPECT_NEAR(lines[2].ours.mean, 0.15, 1e-12);
  EXPECT_NEAR(lines[2].others[0].mean, 0.03, 1e-12);
  EXPECT_EQ(error_lines(validation, ComparedQuantity::GpuBusy)[2].others[0].count, 0U);
  EXPECT_THAT(validation_text(validation), HasSubstr("theirs: another tool"));
}

TEST_F(ValidateTable, ACellOfWhichTheSetSaysNothingIsTheUsersMistake) {
  try {
    static_cast<void>(validate_rows("V100,512,1,1,0\nH100,512,1,1,0\n", [](const ScenarioSettings&) {
      return PredictedTimes{1_ms, 1_ms};
    }));
    FAIL() << "H100 is not in the set";
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("steps.csv:3:1: gpu: set 'two_gpus' says nothing of 'H100'"));
  }
}

}  // namespace
}  // namespace lockstep
