#include "calibration/validate.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/validation_figures.hpp"
#include "calibration/validation_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;
using ::testing::Not;

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

using PredictRow = std::function<PredictedTimes(const ScenarioSettings& row)>;

PredictRows one_by_one(const PredictRow& predict) {
  return [=](std::span<const ScenarioSettings> rows) {
    std::vector<PredictedTimes> times;
    for (const ScenarioSettings& row : rows) {
      times.push_back(predict(row));
    }
    return times;
  };
}

class ValidateTable : public ::testing::Test {
 protected:
  Validation validate_rows(const std::string& rows, const PredictRow& predict) {
    return validate_rows(two_gpus(), rows, predict);
  }
  Validation validate_rows(const ValidationSet& set, const std::string& rows, const PredictRow& predict,
                           std::size_t every = 1) {
    folder_.write("steps.csv", "gpu,batch,ms,busy_ms,off_pct\n" + rows);
    return validate(set, folder_.path(), one_by_one(predict), every);
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

/// A row that says nothing of use is no end of the others: each reason is told once, with its rows.
TEST_F(ValidateTable, RowsThatCannotBeComparedAreRefusedAndCountedByReason) {
  const auto predict = [](const ScenarioSettings& settings) {
    PredictedTimes times{11_ms, 5_ms};
    times.refused = settings.at("workload.global_batch") == "3" ? "workload: 3 is odd\n  all else" : "";
    return times;
  };
  const Validation validation = validate_rows(
      "V100,512,10,5,0\nH100,512,1,1,0\nV100,3,10,5,0\nV100,8,-1,5,0\nP100,3,10,5,0\nV100,9,,5,0\n", predict);
  EXPECT_EQ(validation.points.size(), 1U);
  EXPECT_NEAR(validation.points[0].step.error(), 0.1, 1e-12);
  ASSERT_EQ(validation.refused.size(), 5U);
  EXPECT_THAT(
      validation_text(validation),
      ::testing::AllOf(HasSubstr("5 of 6 rows are refused, and not in what follows\n"),
                       HasSubstr("     1  gpu: set 'two_gpus' says nothing of 'H100'\n        steps.csv:3\n"),
                       HasSubstr("     2  workload: 3 is odd\n        steps.csv:4, steps.csv:6\n"),
                       HasSubstr("ms: what was measured must be greater than 0\n        steps.csv:5\n")));
}

TEST_F(ValidateTable, WhereAllRowsAreRefusedTheFirstIsTheUsersMistake) {
  EXPECT_THAT(
      [&] {
        static_cast<void>(validate_rows("H100,512,1,1,0\n", [](const ScenarioSettings&) {
          return PredictedTimes{1_ms, 1_ms};
        }));
      },
      ::testing::ThrowsMessage<InputError>(
          HasSubstr("steps.csv:2:1: gpu: set 'two_gpus' says nothing of 'H100'")));
}

TEST_F(ValidateTable, ARateIsABatchOverAStep) {
  ValidationSet set = two_gpus();
  set.measured = {};
  set.measured.samples_per_second = "ms";
  set.copied.clear();
  set.multiplied = {{"workload.global_batch", {"batch", "busy_ms"}}};
  const auto predict = [](const ScenarioSettings& settings) {
    EXPECT_EQ(settings.at("workload.global_batch"), "2048");
    return PredictedTimes{1100_ms, 1_ms};
  };
  const Validation validation = validate_rows(set, "V100,512,2048,4,0\n", predict);
  EXPECT_NEAR(validation.points[0].step.measured / 1_s, 1, 1e-12);
  EXPECT_NEAR(validation.points[0].step.error(), 0.1, 1e-12);
  EXPECT_FALSE(validation.points[0].gpu_busy.has_value());
}

TEST_F(ValidateTable, ASetThatAsksForNoRowIsAMistake) {
  ValidationSet set = two_gpus();
  set.where = {{"gpu", {"H100"}}};
  EXPECT_THAT([&] { static_cast<void>(validate_rows(set, "V100,512,1,1,0\n", {})); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("no row has the cells that set 'two_gpus'")));
}

TEST_F(ValidateTable, RowsThatAreNotAskedForAreLeftOutAndCounted) {
  ValidationSet set = two_gpus();
  set.where = {{"gpu", {"P100", "H100"}}, {"batch", {"512"}}};
  const auto predict = [](const ScenarioSettings&) { return PredictedTimes{1_ms, 1_ms}; };
  const Validation validation =
      validate_rows(set, "V100,512,1,1,0\nP100,512,1,1,0\nP100,1024,1,1,0\n", predict);
  ASSERT_EQ(validation.points.size(), 1U);
  EXPECT_EQ(validation.points[0].labels, (std::vector<std::string>{"P100", "512"}));
  EXPECT_EQ(validation.left_out, 2U);
  EXPECT_THAT(validation_text(validation), HasSubstr("2 rows of the table are not asked for"));
}

TEST_F(ValidateTable, AColumnMaySetSeveralKeys) {
  ValidationSet set = two_gpus();
  set.copied = {{"batch", "workload.global_batch  workload.micro_batch"}};
  std::vector<ScenarioSettings> asked;
  static_cast<void>(validate_rows(set, "V100,512,1,1,0\n", [&](const ScenarioSettings& settings) {
    asked.push_back(settings);
    return PredictedTimes{1_ms, 1_ms};
  }));
  EXPECT_EQ(asked.at(0).at("workload.global_batch"), "512");
  EXPECT_EQ(asked[0].at("workload.micro_batch"), "512");
}

TEST_F(ValidateTable, AnEmptyCellSetsNoKey) {
  std::vector<ScenarioSettings> asked;
  static_cast<void>(validate_rows("V100,,1,1,0\nV100,512,1,1,0\n", [&](const ScenarioSettings& settings) {
    asked.push_back(settings);
    return PredictedTimes{1_ms, 1_ms};
  }));
  EXPECT_EQ(asked.at(0).count("workload.global_batch"), 0U);
  EXPECT_EQ(asked.at(1).at("workload.global_batch"), "512");
}

// 5 ms and 1000 kernels of 1 us more each: 6 ms. Steps are measured without a profiler.
TEST_F(ValidateTable, AProfilerLengthensTheKernelsOfTheBusyTimeThatItSaw) {
  ValidationSet set = two_gpus();
  set.measured.profiler_adds = 1_us;
  const auto predict = [](const ScenarioSettings&) {
    return PredictedTimes{.step = 10_ms, .gpu_busy = 5_ms, .kernels = 1000};
  };
  const Validation validation = validate_rows(set, "V100,1,10,6,0\n", predict);
  EXPECT_NEAR(validation.points.at(0).gpu_busy->error(), 0, 1e-12);
  EXPECT_NEAR(validation.points[0].step.error(), 0, 1e-12);
}

// A kernel of 5 us between events that add 3.
TEST_F(ValidateTable, WhatTimingAddsIsPartOfWhatIsPredictedOfAKernel) {
  ValidationSet set = two_gpus();
  set.predicts = PredictedThing::Kernel;
  set.measured.gpu_busy.reset();
  set.measured.timing_adds = 3_us;
  const auto predict = [](const ScenarioSettings&) { return PredictedTimes{.step = 5_us}; };
  EXPECT_NEAR(validate_rows(set, "V100,1,0.008,0,0\n", predict).points.at(0).step.error(), 0, 1e-12);
}

TEST(ValidationSet, WhatTimingAddsIsNotOfSteps) {
  const std::string steps =
      "name: a\ntitle: a\nsource: a\ntable: a.csv\nmeasured: { step: ms, timing_adds: 3 us }\n"
      "scenario: { cluster: dgx_a100 }\n";
  EXPECT_THROW(static_cast<void>(read_text<ValidationSet>(steps, "a test")), InputError);
}

TEST(MeasuredColumns, WhatAProfilerAddsNeedsABusyTimeThatItSaw) {
  const auto refused = [](const std::string& measured) {
    EXPECT_THROW(static_cast<void>(read_text<MeasuredColumns>(measured, "a test")), InputError) << measured;
  };
  refused("{ step: ms, profiler_adds: 1 us }");
  refused("{ step: ms, gpu_busy: busy_ms, profiler_adds: -1 us }");
  refused("{ step: ms, timing_adds: -1 us }");
}

TEST_F(ValidateTable, ASampleIsEachSoManiethRowOfThoseAskedFor) {
  ValidationSet set = two_gpus();
  set.where = {{"gpu", {"P100"}}};
  const auto predict = [](const ScenarioSettings&) { return PredictedTimes{1_ms, 1_ms}; };
  const Validation validation = validate_rows(
      set, "P100,1,1,1,0\nV100,2,1,1,0\nP100,3,1,1,0\nP100,4,1,1,0\nP100,5,1,1,0\n", predict, 2);
  ASSERT_EQ(validation.points.size(), 2U);
  EXPECT_EQ(validation.points[0].labels[1], "1");
  EXPECT_EQ(validation.points[1].labels[1], "4");
}

TEST_F(ValidateTable, FiguresAreByTheGroupsInTheOrderOfNumbers) {
  ValidationSet set = two_gpus();
  set.groups = {"batch"};
  const auto predict = [](const ScenarioSettings&) { return PredictedTimes{1_ms, 1_ms}; };
  const Validation validation =
      validate_rows(set, "V100,1024,1,1,0\nV100,512,1,1,0\nP100,1024,1,1,0\n", predict);
  const auto lines = error_lines(validation, ComparedQuantity::Step);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].cell, "512");
  EXPECT_EQ(lines[1].cell, "1024");
  EXPECT_EQ(lines[1].ours.count, 2U);
}

/// Measured 1 to 4 ms; V100's are predicted in that order, P100's the other way round.
class OrderOfSteps : public ValidateTable {
 protected:
  Validation validation() {
    ValidationSet set = two_gpus();
    set.family = {"gpu"};
    const std::string rows =
        "V100,1,1,1,0\nV100,2,2,1,0\nV100,4,4,1,0\nP100,1,1,1,0\nP100,2,2,1,0\nP100,4,4,1,0\n";
    return validate_rows(set, rows, [](const ScenarioSettings& row) {
      const double batch = std::stod(row.at("workload.global_batch"));
      return PredictedTimes{(row.at("gpu") == "v100_16gb" ? batch : 10 - batch) * 1_ms, 1_ms};
    });
  }
};

TEST_F(OrderOfSteps, IsJudgedWithinFamilies) {
  const StepOrder order = step_order(validation());
  EXPECT_EQ(order.families, 2U);
  EXPECT_NEAR(order.median, 0, 1e-12);  // of 1 and -1
  EXPECT_NEAR(order.lowest, -1, 1e-12);
  EXPECT_EQ(order.lowest_family, std::vector<std::string>{"P100"});
  // V100's fastest is chosen; on P100 the step of 4 ms is taken in place of that of 1 ms.
  EXPECT_NEAR(order.mean_regret, 1.5, 1e-12);
  EXPECT_NEAR(order.largest_regret, 3, 1e-12);
}

TEST_F(OrderOfSteps, IsPrinted) {
  EXPECT_THAT(validation_text(validation()),
              HasSubstr("by family (same gpu; 2 of them): median 0.000, lowest -1.000 (P100)"));
}

TEST_F(ValidateTable, OfALargeTableTheWorstPointsArePrinted) {
  std::string rows;
  for (int batch = 1; batch <= 50; ++batch) {
    rows += "V100," + std::to_string(batch) + ",10,1,0\n";
  }
  const Validation validation = validate_rows(two_gpus(), rows, [](const ScenarioSettings& row) {
    return PredictedTimes{row.at("workload.global_batch") == "7" ? 30_ms : 11_ms, 1_ms};
  });
  EXPECT_EQ(worst_points(validation, 1), std::vector<std::size_t>{6});
  EXPECT_THAT(validation_text(validation), HasSubstr("the 10 largest errors of step time"));
  EXPECT_THAT(validation_text(validation), ::testing::Not(HasSubstr("V100 49 ")));
  EXPECT_THAT(validation_text(validation, PrintedPoints::All), HasSubstr("V100 49 "));
}

TEST_F(ValidateTable, TimesPublishedElsewhereStandBesideRowsThatTheyName) {
  ValidationSet set = two_gpus();
  set.others[0].step_error.reset();
  set.others[0].published = PublishedTimes{.by = {"gpu", "batch"}, .step = {{"V100", {{"64", 9.0}}}}};
  const Validation validation =
      validate_rows(set, "V100,64,10,5,0\nV100,128,20,9,0\nP100,64,10,5,0\n", [](const ScenarioSettings&) {
        return PredictedTimes{10_ms, 5_ms};
      });
  EXPECT_NEAR(validation.points[0].step.others[0].value(), -0.1, 1e-12);
  EXPECT_FALSE(validation.points[1].step.others[0].has_value());
  EXPECT_FALSE(validation.points[2].step.others[0].has_value());
}

/// Predicted 10 ms +- 20 % for measured 11, 12.5 and 8 ms: inside are 11 and 8 (the edge).
TEST_F(ValidateTable, CountsWhatIsMeasuredInsideTheBand) {
  const Validation validation =
      validate_rows("V100,1,11,5,0\nV100,2,12.5,5,0\nP100,4,8.0001,5,0\n", [](const ScenarioSettings&) {
        return PredictedTimes{10_ms, 5_ms, even_band(0.2)};
      });
  const auto lines = error_lines(validation, ComparedQuantity::Step);
  EXPECT_NEAR(lines.at(0).inside.value(), 0.5, 1e-12);  // V100
  EXPECT_NEAR(lines.at(1).inside.value(), 1, 1e-12);    // P100
  EXPECT_NEAR(lines.at(2).inside.value(), 2 / 3.0, 1e-12);
  EXPECT_FALSE(error_lines(validation, ComparedQuantity::GpuBusy).at(2).inside.has_value());
  EXPECT_THAT(validation_text(validation), HasSubstr("bias  in band"));
  EXPECT_THAT(validation_text(validation), HasSubstr("     66.7"));
}

/// Predicted 10 ms, at most a tenth shorter and a third longer: 12.5 ms is inside, 8 ms is not.
TEST_F(ValidateTable, ABandMayReachFurtherToOneSide) {
  const Validation validation =
      validate_rows("V100,1,11,5,0\nV100,2,12.5,5,0\nP100,4,8.0001,5,0\n", [](const ScenarioSettings&) {
        return PredictedTimes{10_ms, 5_ms, Band{0.1, 0.33}};
      });
  const auto lines = error_lines(validation, ComparedQuantity::Step);
  EXPECT_NEAR(lines.at(0).inside.value(), 1, 1e-12);  // V100
  EXPECT_NEAR(lines.at(1).inside.value(), 0, 1e-12);  // P100
}

TEST_F(ValidateTable, ASetWithoutAnAimHasAMeanOfATenth) {
  ValidationSet set = two_gpus();
  set.aims.clear();
  ASSERT_EQ(aims_of(set).size(), 1U);
  EXPECT_EQ(aims_of(set)[0].figure, AimedFigure::Mean);
  EXPECT_DOUBLE_EQ(aims_of(set)[0].below, 0.1);
}

TEST_F(ValidateTable, CountsWhatWasNotCheckedInItsRange) {
  const auto validated = [&](bool in_range) {
    return validate_rows("V100,1,10,5,0\nP100,1,10,5,0\n", [&](const ScenarioSettings& row) {
      return PredictedTimes{
          .step = 10_ms, .gpu_busy = 5_ms, .in_range = in_range || row.at("gpu") == "v100_16gb"};
    });
  };
  EXPECT_EQ(points_out_of_range(validated(false)), 1U);
  EXPECT_THAT(validation_text(validated(false)),
              HasSubstr("1 of 2 points is outside the ranges that their models were checked in"));
  EXPECT_THAT(validation_text(validated(true)), Not(HasSubstr("outside the ranges")));
}

TEST_F(ValidateTable, AimsStandBesideWhatIsReached) {
  ValidationSet set = two_gpus();
  ValidationAim mean;
  mean.figure = AimedFigure::Mean;
  mean.below = 0.2;
  mean.published = "30 % (theirs)";
  ValidationAim busy = mean;
  busy.of = ComparedQuantity::GpuBusy;
  busy.below = 0.05;
  set.aims = {mean, busy};
  const Validation validation =
      validate_rows(set, "V100,1,10,10,0\nP100,1,10,10,0\n", [](const ScenarioSettings& row) {
        return PredictedTimes{row.at("gpu") == "v100_16gb" ? 11_ms : 8_ms, 11_ms};
      });
  const auto reached = reached_aims(validation);
  ASSERT_EQ(reached.size(), 2U);
  EXPECT_NEAR(reached[0].reached, 0.15, 1e-12);
  const std::vector both{validation, validation};
  const std::string summary = validation_summary(both);
  EXPECT_THAT(summary, HasSubstr("step       mean         20.0    15.0  reached  30 % (theirs)"));
  EXPECT_THAT(summary, HasSubstr("gpu_busy   mean          5.0    10.0  missed   30 % (theirs)"));
}

TEST(ValidationSet, AnAimIsAboveZero) {
  try {
    static_cast<void>(read_text<ValidationAim>("figure: mean\nbelow: 0\n", "aim.yaml"));
    FAIL();
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("aim.yaml:2:8: below: an error to stay below"));
  }
}

}  // namespace
}  // namespace lockstep
