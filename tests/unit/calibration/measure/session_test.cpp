#include "calibration/measure/session.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {
namespace {

/// Ten microseconds, always.
class Steady final : public Experiment {
 public:
  std::vector<Seconds> repeat(std::size_t count) override {
    return std::vector<Seconds>(count, Seconds{1e-5});
  }
};

/// Three points; its tables are written to a folder of the test.
class Session : public ::testing::Test {
 protected:
  Session()
      : folder_{std::filesystem::temp_directory_path() /
                ("lockstep_measure_" +
                 std::string{::testing::UnitTest::GetInstance()->current_test_info()->name()})} {
    std::filesystem::remove_all(folder_);
    family_ = {
        .name = "made_up",
        .what = "a family of this test",
        .parameters = {"type", "n"},
        .facts = {},
        .rates = {"n_per_us"},
        .grid =
            [](const MachineLimits&, Extent) {
              std::vector<GridPoint> points;
              for (const int n : {1, 2, 3}) {
                points.push_back(GridPoint{}.set("type", "fp32").set("n", n));
              }
              return points;
            },
        .rates_of =
            [](const GridPoint& point, Seconds time) {
              return std::vector<double>{static_cast<double>(point.integer("n")) / (time / Seconds{1e-6})};
            },
        .quick_point = Seconds{1},
        .full_point = Seconds{2}};
    options_.out = folder_;
    options_.families = {&family_};
    machine_.description = {.identity = {{"gpu", "Made Up 100"}}, .found = {{"date", "today"}}};
    machine_.prepare = [this](const Family&, const GridPoint& point) -> std::unique_ptr<Experiment> {
      prepared_.push_back(point.integer("n"));
      if (point.integer("n") == failing_) {
        throw std::runtime_error{"made to fail"};
      }
      return std::make_unique<Steady>();
    };
    machine_.works = [this] { return works_; };
    machine_.sm_clock_mhz = [] { return 1980; };
  }
  ~Session() override { std::filesystem::remove_all(folder_); }

  Outcomes measure() {
    return measure_all(options_, machine_, [this](const std::string& line) { told_ += line + "\n"; });
  }
  [[nodiscard]] std::filesystem::path table() const { return folder_ / "made_up.csv"; }
  std::string message() {
    try {
      measure();
    } catch (const std::exception& problem) {
      return problem.what();
    }
    return "nothing was wrong";
  }

  std::filesystem::path folder_;
  Family family_;
  Options options_;
  MachineUnderTest machine_;
  std::vector<std::int64_t> prepared_;
  std::int64_t failing_ = 0;
  bool works_ = true;
  std::string told_;
};

TEST_F(Session, WritesATableThatTheReaderOfTablesReads) {
  EXPECT_EQ(measure().measured, 3U);
  EXPECT_EQ(read_own_file(table()),
            "# lockstep-measure made_up: a family of this test\n# gpu: Made Up 100\n# date: today\n"
            "type,n,repeats,median_us,least_us,tenth_us,ninetieth_us,median_error,sm_clock_mhz,n_per_us\n"
            "fp32,1,24,10,10,10,10,0,1980,0.1\nfp32,2,24,10,10,10,10,0,1980,0.2\n"
            "fp32,3,24,10,10,10,10,0,1980,0.3\n");
  const CsvTable read = CsvTable::from_file(table());
  EXPECT_EQ(read.rows(), 3U);
  EXPECT_DOUBLE_EQ(read.number(2, "n_per_us"), 0.3);
}

TEST_F(Session, RefusesToMixWithATableThatIsThere) {
  measure();
  EXPECT_EQ(message(),
            table().string() + ": is there already; --resume goes on with it, --out names another folder");
}

TEST_F(Session, ResumesAfterARowThatWasCutOff) {
  measure();
  const std::string whole = read_own_file(table());
  std::ofstream{table()} << whole.substr(0, whole.size() - 7);
  prepared_.clear();
  options_.resume = true;
  EXPECT_EQ(measure().measured, 1U);
  EXPECT_EQ(prepared_, std::vector<std::int64_t>{3});
  EXPECT_EQ(read_own_file(table()), whole);
}

TEST_F(Session, RefusesToResumeOnAnotherMachine) {
  measure();
  options_.resume = true;
  machine_.description.identity = {{"gpu", "Made Up 200"}};
  EXPECT_EQ(
      message(),
      table().string() +
          ": was measured with gpu 'Made Up 100', and this is 'Made Up 200'; --out names another folder");
}

TEST_F(Session, RefusesToResumeATableWithOtherColumns) {
  measure();
  options_.resume = true;
  family_.rates = {"other_rate"};
  EXPECT_NE(message().find("has other columns than this version writes"), std::string::npos);
}

TEST_F(Session, LeavesOutAPointThatFailsAndTriesItAgain) {
  failing_ = 2;
  const Outcomes outcomes = measure();
  EXPECT_EQ(outcomes.measured, 2U);
  EXPECT_EQ(outcomes.failed, 1U);
  EXPECT_NE(told_.find("made_up: fp32,2 left out: made to fail\n"), std::string::npos);
  failing_ = 0;
  options_.resume = true;
  prepared_.clear();
  EXPECT_EQ(measure().measured, 1U);
  EXPECT_EQ(prepared_, std::vector<std::int64_t>{2});
}

TEST_F(Session, EndsWhereTheGpuDoesNotWorkAnyMore) {
  failing_ = 2;
  works_ = false;
  EXPECT_EQ(message(),
            "the GPU does not work after that; what is measured is in the tables, --resume goes on");
  EXPECT_EQ(CsvTable::from_file(table()).rows(), 1U);
}

TEST_F(Session, TellsAnEstimateFirst) {
  measure();
  EXPECT_TRUE(told_.starts_with("about 0:06 min to measure into " + folder_.string())) << told_;
  EXPECT_NE(list_of(options_, {}).find("in all about 0:06 min"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
