#include "calibration/csv_table.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"

namespace lockstep {
namespace {

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "nothing was wrong";
}

TEST(CsvTable, SkipsCommentsAndReadsQuotedCells) {
  const CsvTable table =
      CsvTable::from_text("# where from\ngpu,ms\n\"V100, 16 GB\",4.5\r\n# more\nP100,6\n", "t.csv");
  ASSERT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.cell(0, "gpu"), "V100, 16 GB");
  EXPECT_DOUBLE_EQ(table.number(0, "ms"), 4.5);
  EXPECT_DOUBLE_EQ(table.number(1, "ms"), 6);
}

TEST(CsvTable, BehindAByteOrderMarkTheHeaderMayBeginWithANumberSign) {
  const CsvTable table = CsvTable::from_text("\xEF\xBB\xBF# GPUs,ms\n# a comment\n8,6\n", "t.csv");
  ASSERT_EQ(table.rows(), 1U);
  EXPECT_EQ(table.cell(0, "# GPUs"), "8");
}

TEST(CsvTable, AByteOrderMarkIsNoPartOfTheFirstColumn) {
  const CsvTable table = CsvTable::from_text("\xEF\xBB\xBFgpu,ms\nP100,6\n", "t.csv");
  EXPECT_EQ(table.cell(0, "gpu"), "P100");
}

TEST(CsvTable, SaysWhichColumnWasMeant) {
  const CsvTable table = CsvTable::from_text("gpu,measured_ms\nP100,6\n", "t.csv");
  EXPECT_EQ(message_of([&] { static_cast<void>(table.cell(0, "measured_sm")); }),
            "t.csv:1:1: the table has no column 'measured_sm' - did you mean 'measured_ms'?");
}

TEST(CsvTable, SaysWhereANumberIsNone) {
  const CsvTable table = CsvTable::from_text("# a comment\ngpu,ms\nP100,6\nV100,6 ms\n", "t.csv");
  EXPECT_EQ(message_of([&] { static_cast<void>(table.number(1, "ms")); }),
            "t.csv:4:1: ms: '6 ms' is not a number");
}

TEST(CsvTable, NumbersColumnsOfOneName) {
  const CsvTable table = CsvTable::from_text("size,time,time\n8,1,2\n", "t.csv");
  EXPECT_EQ(table.cell(0, "time"), "1");
  EXPECT_EQ(table.cell(0, "time.1"), "2");
}

TEST(CsvTable, RefusesLinesThatDoNotFitTheHeader) {
  EXPECT_EQ(message_of([] { CsvTable::from_text("gpu,ms\nP100\n", "t.csv"); }),
            "t.csv:2:1: 1 cells under 2 columns");
  EXPECT_EQ(message_of([] { CsvTable::from_text("# nothing\n", "t.csv"); }),
            "t.csv: the table has no header line");
}

}  // namespace
}  // namespace lockstep
