#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "small_job.hpp"
#include "traces/chrome_trace.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

const std::string kChecker = "'" LOCKSTEP_SOURCE_DIR "/tests/support/check_kineto_layout.py'";
const std::string kRenderer = "'" LOCKSTEP_SOURCE_DIR "/tools/render_timeline.py'";

class TimelineTools : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run("-c pass") != 0) {
      GTEST_SKIP() << "python3 is not installed";
    }
  }

  /// Exit code of python3 with @p arguments; what it printed is in printed().
  int run(const std::string& arguments) {
    const int status = std::system(fmt::format("python3 {} > '{}' 2>&1", arguments, log_.string()).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[nodiscard]] static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  [[nodiscard]] std::string printed() const { return text_of(log_); }

  /// Writes two steps of the small job and returns the files.
  std::vector<std::filesystem::path> written(bool file_per_rank, NcclNames names) {
    ChromeTraceOptions options;
    options.path = directory_.path() / "timeline.json.gz";
    options.file_per_rank = file_per_rank;
    options.nccl_names = names;
    const Job job = small_job();
    ChromeTraceWriter writer{job, two_gpus(), options};
    writer.write(spans_of_small_job(2));
    writer.finish();
    return writer.paths();
  }

  TemporaryDirectory directory_;
  std::filesystem::path log_ = directory_.path() / "printed.txt";
};

TEST_F(TimelineTools, MergedFileHasKinetosLayout) {
  const auto paths = written(false, NcclNames::DevKernel);
  EXPECT_EQ(run(fmt::format("{} '{}'", kChecker, paths[0].string())), 0) << printed();
  EXPECT_THAT(printed(), HasSubstr("12 kernel"));  // 2 ranks x 2 steps x (2 GEMMs + 1 all-reduce)
}

TEST_F(TimelineTools, FilePerRankIsWhatHtaReads) {
  const auto paths = written(true, NcclNames::Kernel);
  ASSERT_EQ(paths.size(), 2);
  EXPECT_EQ(run(fmt::format("{} --hta '{}' '{}'", kChecker, paths[0].string(), paths[1].string())), 0)
      << printed();
}

TEST_F(TimelineTools, CheckerSeesWhatIsWrong) {
  const std::string text = gunzip(written(false, NcclNames::DevKernel)[0]);
  // Each edit breaks one requirement; the message names it.
  const std::vector<std::array<std::string, 3>> edits{
      {R"("rank": 0)", R"("rank":0)", "first KiB"},
      {R"("stream":7},"tid":7)", R"("stream":7},"tid":8)", "tid is not its stream"},
      {R"("correlation":1,"stream")", R"("correlation":99,"stream")", "without a launch"},
      {R"("bp":"e",)", "", "without bp:e"},
      {"ProfilerStep#1", "ProfilerStep#7", "not numbered in order"},
      {R"("dur":11.001)", R"("dur":41.001)", "slices of a stream overlap"},
      {R"("dtype":"Float",)", "", "without `dtype`"},
  };
  for (const auto& [from, to, message] : edits) {
    std::string broken = text;
    const std::size_t at = broken.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    broken.replace(at, from.size(), to);
    const std::filesystem::path path = directory_.path() / "broken.json";
    std::ofstream{path} << broken;
    EXPECT_EQ(run(fmt::format("{} '{}'", kChecker, path.string())), 1) << from;
    EXPECT_THAT(printed(), HasSubstr(message));
  }
}

TEST_F(TimelineTools, CheckerAgreesWithPyTorchsOwnFiles) {
  const std::filesystem::path folder = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/dlrm_8xv100/kineto";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "needs the captured traces in ../shared/data/traces";
  }
  EXPECT_EQ(run(fmt::format("{} --partial '{}'/*.gz", kChecker, folder.string())), 0) << printed();
}

TEST_F(TimelineTools, DrawsRowsSlicesAndArrows) {
  const auto paths = written(false, NcclNames::DevKernel);
  const std::filesystem::path drawing = directory_.path() / "timeline.svg";
  ASSERT_EQ(
      run(fmt::format("{} '{}' '{}' --to 90 --ranks 1", kRenderer, paths[0].string(), drawing.string())), 0)
      << printed();
  // Rank 1 has 2 threads and 2 streams; 2 steps of 16 spans and 1 ProfilerStep; 5 arrows before 90 us.
  EXPECT_THAT(printed(), HasSubstr("34 slices in 4 rows, 5 arrows"));
  const std::string svg = text_of(drawing);
  EXPECT_THAT(svg, HasSubstr("stream 20 (nccl)"));
  EXPECT_THAT(svg, HasSubstr("ncclDevKernel_AllReduce_Sum_f32"));
  EXPECT_THAT(svg, HasSubstr("rank 1 GPU (node0.gpu1, A100-SXM4-80GB)"));
  EXPECT_EQ(svg.find("rank 0"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
