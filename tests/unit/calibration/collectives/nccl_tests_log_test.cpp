/// @file
/// Logs as nccl-tests, mpirun and srun write them; the rows are made up.

#include "calibration/collectives/nccl_tests_log.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

const std::string kRanks =
    "#  Rank  0 Group  0 Pid 10 on node1 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 11 on node1 device  1 [0000:2d:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid 12 on node2 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid 13 on node2 device  1 [0000:2d:00] NVIDIA H100 80GB HBM3\n";
const std::string kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw  "
    " "
    "busbw  #wrong\n";
const std::string kRow =
    "     1048576        262144     float     sum      -1   100.00   10.49   15.73       0   101.00   10.38  "
    " "
    "15.57       0\n";

/// The row of another collective over the four ranks: 3/4 of algbw.
std::string row_of_gather() {
  std::string row = kRow;
  row.replace(row.find("15.73"), 5, " 7.87");
  return row;
}

struct ReadLog {
  CollectiveMeasurements measurements;
  NcclTestsReport report;
};

ReadLog read(const std::string& text, const std::string& name = "nccl.log", const std::string& program = "") {
  const test::ScratchFolder folder;
  folder.write(name, text);
  ReadLog log;
  log.report = NcclTestsLog{program}.read(folder / name, log.measurements);
  return log;
}

std::string complaint_about(const std::string& text, const std::string& name = "nccl.log") {
  try {
    (void)read(text, name);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "accepted";
}

TEST(NcclTestsLog, CountsRanksAndNodesAndReadsOutOfPlaceTimes) {
  const ReadLog log = read("# Collective test starting: all_reduce_perf\n" + kRanks + kHeader + kRow);
  ASSERT_EQ(log.measurements.rows.size(), 1U);
  const CollectiveMeasurement& row = log.measurements.rows[0];
  EXPECT_EQ(row.kind, CollectiveKind::AllReduce);
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(row.gpus_per_node, 2);
  EXPECT_EQ(row.size, Bytes{1048576});
  EXPECT_DOUBLE_EQ(row.time.in_base_units(), 100e-6);
  EXPECT_EQ(log.measurements.runs, std::vector<std::string>{"nccl.log: all_reduce_perf"});
}

TEST(NcclTestsLog, SeveralProgramsInOneFileAreSeveralRuns) {
  const ReadLog log =
      read("# Collective test starting: all_reduce_perf\n" + kRanks + kHeader + kRow +
           "# Collective test starting: alltoall_perf\n" + kRanks + kHeader + row_of_gather() +
           "# Collective test starting: sendrecv_perf\n" + kRanks + kHeader + kRow);
  ASSERT_EQ(log.measurements.rows.size(), 2U);
  EXPECT_EQ(log.measurements.rows[1].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(log.measurements.rows[1].run, 1U);
  EXPECT_EQ(log.report.not_modelled, 1U);
}

/// The log with @p mark before each line.
std::string marked(const std::string& mark) {
  std::string text;
  std::istringstream in{kRanks + kHeader + kRow};
  for (std::string line; std::getline(in, line);) {
    text.append(mark).append(line).append("\n");
  }
  return text;
}

TEST(NcclTestsLog, LaunchersMarksAreTakenOff) {
  for (const char* mark :
       {"[1,0]<stdout>:", "[prterun-node1-4711@1,0]<stdout>: ", "[0] ", "12: ", " 0: ",
        "2024-05-05T10:11:12.123Z ", "2024-05-05 10:11:12+02:00 ", "[2024-05-05 10:11:12,123] ",
        "May  5 10:11:12 ", "10:11:12.5 ", "Sun May  5 10:11:12 2024[1,0]<stdout>:", "[pod/bench-0/nccl] ",
        "[node-1.local:4711] ", "May  5 10:11:12 node1 srun[4711]: ", "2024-05-05T10:11:12Z 0: "}) {
    const ReadLog log = read(marked(mark), "all_reduce.log");
    ASSERT_EQ(log.report.used, 1U) << mark;
    EXPECT_EQ(log.measurements.rows[0].size, Bytes{1048576}) << mark;
    EXPECT_EQ(log.measurements.rows[0].nodes, 2) << mark;
    EXPECT_EQ(log.report.unread, 0U) << mark;
  }
}

TEST(NcclTestsLog, RowsBehindOtherMarksAreCounted) {
  const ReadLog log = read(marked("worker-0 says "), "all_reduce.log");
  EXPECT_EQ(log.report.used, 0U);
  EXPECT_EQ(log.report.unread, 1U);
  EXPECT_THAT(left_out_in_words(log.report), HasSubstr("1 rows that cannot be read, the first in line 6"));
  // Rows before a header: the log's beginning is lost.
  EXPECT_EQ(read(kRow + kRanks + kHeader + kRow, "all_reduce.log").report.unread, 1U);
  // Other text of a log is no row.
  EXPECT_EQ(read("node1:12:34 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n" + marked(""), "all_reduce.log")
                .report.unread,
            0U);
}

TEST(NcclTestsLog, AnEndlessLineIsNone) {
  EXPECT_EQ(read("#" + std::string(1'000'000, 'x') + "\n[" + std::string(1'000'000, '1') + "\n" + marked(""),
                 "all_reduce.log")
                .report.used,
            1U);
}

TEST(NcclTestsLog, OneGpuExchangesNothing) {
  const std::string rank = kRanks.substr(0, kRanks.find('\n') + 1);
  EXPECT_THAT(complaint_about(rank + kHeader + kRow, "all_reduce.log"),
              HasSubstr("all_reduce.log:3:1: a collective has 2 to 1000000 GPUs, not 1"));
}

TEST(NcclTestsLog, RunsAreNamedByTheFileAsItIsToldApart) {
  const test::ScratchFolder folder;
  folder.write("all_reduce.log", kRanks + kHeader + kRow);
  CollectiveMeasurements measurements;
  (void)NcclTestsLog{}.read(folder / "all_reduce.log", measurements, "a/all_reduce.log");
  EXPECT_EQ(measurements.runs, std::vector<std::string>{"a/all_reduce.log: all_reduce"});
}

TEST(NcclTestsLog, RowsWithoutReductionAndOldRanksAreRead) {  // 2.8: the header has redop, the rows do not
  const ReadLog log = read(
      "#   Rank  0 Pid 112424 on localhost device  0 [0x00] A100-SXM4-40GB\n"
      "#   Rank  1 Pid 112424 on localhost device  1 [0x00] A100-SXM4-40GB\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  "
      "error\n"
      "     1048576         32768   float            87.38   12.00    6.00    N/A    87.38   12.00    6.00   "
      " N/A\n",
      "nccl_alltoall.log");
  ASSERT_EQ(log.report.used, 1U);
  EXPECT_EQ(log.measurements.rows[0].kind, CollectiveKind::AllToAll);
  EXPECT_DOUBLE_EQ(log.measurements.rows[0].time.in_base_units(), 87.38e-6);
  EXPECT_THAT(log.report.devices, ::testing::ElementsAre("A100-SXM4-40GB"));
}

TEST(NcclTestsLog, BrokenRowsAreCountedNotUsed) {
  const ReadLog log =
      read(kRanks + kHeader + kRow +
               "     2097152        524288     float     sum      -1   100.00\n"  // cut off
               "     2097152        524288     float     sum      -1   100.00   99.99   15.73       "
               "0   101.00   10.38   15.57       0\n"  // time and bandwidth disagree
               "           0             0     float     sum      -1   10.00   0.00   0.00       0   "
               "10.00   0.00   0.00       0\n",
           "all_reduce.log");
  EXPECT_EQ(log.report.used, 1U);
  EXPECT_EQ(log.report.broken, 2U);
  EXPECT_EQ(log.report.without_size, 1U);
}

TEST(NcclTestsLog, WrongResultsAreCountedNotUsed) {
  std::string wrong = kRow;
  wrong.replace(wrong.find("       0"), 8, "       7");
  const ReadLog log = read("# Collective test starting: all_reduce_perf\n" + kRanks + kHeader + kRow + wrong);
  EXPECT_EQ(log.report.used, 1U);
  EXPECT_EQ(log.report.wrong, 1U);
}

/// A log of 2.8 on the four ranks, with the errors of both times.
std::string old_log(const std::string& type, const std::string& error, const std::string& in_place,
                    const std::string& end = "# Out of bounds values : 0 OK\n") {
  return kRanks +
         "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
         "busbw  "
         "error\n"
         "     1048576        262144   " +
         type + "     sum   100.00   10.49   15.73  " + error + "   101.00   10.38   15.57  " + in_place +
         "\n" + end;
}

// Before 2.13 rows say how far the worst element is off: of four ranks three roundings, 3e-5 of floats.
TEST(NcclTestsLog, ErrorsBeyondRoundingAreWrongResults) {
  const auto used = [](const std::string& text) { return read(text, "all_reduce.log").report; };
  EXPECT_EQ(used(old_log("float", "2e-05", "2e-05")).used, 1U);
  EXPECT_EQ(used(old_log("half", "3e-02", "N/A")).used, 1U);
  EXPECT_EQ(used(old_log("int32", "0e+00", "0e+00")).used, 1U);
  for (const auto& [type, error] :
       {std::pair{"float", "4e-05"}, std::pair{"float", "3e+03"}, std::pair{"float", "nan"},
        std::pair{"float", "inf"}, std::pair{"half", "4e-02"}, std::pair{"int32", "1e+00"}}) {
    EXPECT_EQ(used(old_log(type, error, "0e+00", "# Out of bounds values : 1 FAILED\n")).wrong, 1U)
        << type << error;
  }
}

// The last line counts results in both places; rows without a check (N/A) tell none.
TEST(NcclTestsLog, ARunThatFailedIsOfNoUseUnlessItsRowsTellWhich) {
  const std::string failed = "# Out of bounds values : 12 FAILED\n";
  const ReadLog none = read(old_log("float", "N/A", "N/A", failed), "all_reduce.log");
  EXPECT_EQ(none.report.used, 0U);
  EXPECT_EQ(none.report.wrong, 1U);
  EXPECT_TRUE(none.measurements.rows.empty());
  EXPECT_TRUE(none.measurements.runs.empty());
  const ReadLog in_place = read(old_log("float", "2e-05", "3e+03", failed), "all_reduce.log");
  EXPECT_EQ(in_place.report.used, 1U);
  EXPECT_EQ(in_place.report.wrong, 0U);
  const std::string first = "# Collective test starting: all_reduce_perf\n" + kRanks + kHeader + kRow;
  const ReadLog second = read(first + "# Out of bounds values : 0 OK\n" + first + failed);
  EXPECT_EQ(second.report.used, 1U);
  EXPECT_EQ(second.report.wrong, 1U);
  EXPECT_EQ(second.measurements.runs, std::vector<std::string>{"nccl.log: all_reduce_perf"});
}

// All-gather and all-to-all have one busbw / algbw: nothing in the second log tells it from the first.
TEST(NcclTestsLog, ASecondProgramHasToBeNamed) {
  const std::string twice = kRanks + kHeader + row_of_gather() + kRanks + kHeader + row_of_gather();
  EXPECT_THAT(
      complaint_about(twice, "allgather_and_alltoall.log"),
      HasSubstr("allgather_and_alltoall.log:7:1: a second program begins here, and the log does not"));
  const ReadLog said = read(twice, "nccl.log", "all_gather");
  EXPECT_EQ(said.report.used, 2U);
  EXPECT_EQ(said.measurements.runs.size(), 2U);
}

TEST(NcclTestsLog, ANameSaysTheCollectiveHoweverItIsSpelt) {
  const std::string log = kRanks + kHeader + kRow;
  for (const char* name : {"all-reduce.log", "AllReduce.txt", "all_reduce_perf.out"}) {
    EXPECT_EQ(read(log, name).measurements.rows.at(0).kind, CollectiveKind::AllReduce) << name;
  }
  EXPECT_EQ(read(kRanks + kHeader + row_of_gather(), "reduce-scatter.log").measurements.rows.at(0).kind,
            CollectiveKind::ReduceScatter);
}

TEST(NcclTestsLog, BusBandwidthTellsAnotherCollectiveOrGroup) {
  EXPECT_THAT(complaint_about(kRanks + kHeader + kRow, "all_gather.log"),
              HasSubstr("all_gather.log:6:1: busbw 15.73 of algbw 10.49 is no all_gather of 4 ranks"));
  EXPECT_THAT(complaint_about(kRanks + kRanks + kHeader + kRow, "all_reduce.log"),
              HasSubstr("is no all_reduce of 8 ranks, whose factor is 1.75"));
}

TEST(NcclTestsLog, TimestampsAreTwoWordsMoreInRows) {
  std::string header = kHeader, row = kRow;
  header.insert(header.find('\n'), "  timestamp");
  row.insert(row.find('\n'), "  2026-11-25 14:00:00");
  const ReadLog log = read(kRanks + header + row, "all_reduce.log");
  ASSERT_EQ(log.report.used, 1U);
  EXPECT_DOUBLE_EQ(log.measurements.rows[0].time.in_base_units(), 100e-6);
}

TEST(NcclTestsLog, TimesOfTheCpuAreNone) {
  std::string header = kHeader;
  for (std::size_t at = header.find(" time"); at != std::string::npos; at = header.find(" time", at + 1)) {
    header.replace(at, 5, " cputime");
  }
  EXPECT_THAT(complaint_about(kRanks + header + kRow, "all_reduce.log"), HasSubstr("times of the CPU"));
}

/// A table of import names runs by file and program: two of one name would be read as one, with one launch.
TEST(NcclTestsLog, RunsOfOneNameAreToldApart) {
  const std::string once = "# Collective test starting: all_reduce_perf\n" + kRanks + kHeader + kRow;
  const ReadLog log = read(once + once);
  EXPECT_EQ(log.measurements.runs,
            (std::vector<std::string>{"nccl.log: all_reduce_perf", "nccl.log: all_reduce_perf (2)"}));
}

TEST(NcclTestsLog, SaysWhatIsMissing) {
  EXPECT_THAT(complaint_about("hello\n"), HasSubstr("this is no output of nccl-tests"));
  EXPECT_THAT(complaint_about(kRanks + kHeader + kRow),
              HasSubstr("nccl.log:6:1: neither the log nor its name says"));
  EXPECT_THAT(complaint_about(kHeader + kRow, "all_reduce.log"), HasSubstr("how many GPUs ran it?"));
  EXPECT_THAT(complaint_about(kRanks.substr(0, kRanks.rfind("#  Rank")) + kHeader + kRow, "all_reduce.log"),
              HasSubstr("only equal nodes can be used"));
}

TEST(NcclTestsLog, CountsRowsWhoseDigitsStandInGroups) {
  for (const char* const size : {"8.388.608", "8,388,608", "8'388'608",
                                 "8\xC2\xA0"
                                 "388\xC2\xA0"
                                 "608",
                                 "8M"}) {
    const ReadLog log =
        read(kRanks + kHeader + kRow + size + " 2097152 float sum -1 800.00 10.49 15.73 0\n" + kRow,
             "all_reduce.log");
    EXPECT_EQ(log.report.used, 2U) << size;
    EXPECT_EQ(log.report.broken, 1U) << size;
    EXPECT_EQ(log.report.first_broken, 7) << size;
    EXPECT_THAT(left_out_in_words(log.report), HasSubstr("1 broken lines, the first in line 7")) << size;
  }
}

}  // namespace
}  // namespace lockstep
