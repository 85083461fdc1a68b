// Timelines that are small enough to divide by hand.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/comparison/run_profile.hpp"
#include "traces/comparison/side_by_side.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::comparison {
namespace {

using ::testing::HasSubstr;

std::string span(const std::string& category, const std::string& name, int pid, double start, double end,
                 const std::string& arguments) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":1,"ts":{},"dur":{},"args":{{{}}}}})",
                     category, name, pid, start, end - start, arguments);
}

std::string process(const std::string& name, int pid) {
  return fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}}}})", pid,
                     name);
}

// Host: a step of 100 us and one operator; GPU: a product from 10 to 50, communication from 40 to 80, a copy
// from 70 to 75, another product from 90 to 120, after the host's step.
std::string rank_events(int rank) {
  const int host = 1000 + rank;
  return process(fmt::format("rank {} host", rank), host) + ",\n" +
         process(fmt::format("rank {} GPU (any)", rank), rank) + ",\n" +
         span("user_annotation", "ProfilerStep#0", host, 0, 100, R"("External id":0)") + ",\n" +
         span("cpu_op", "aten::mm", host, 1, 9, R"("External id":5)") + ",\n" +
         span("cuda_runtime", "cudaLaunchKernel", host, 2, 3, R"("External id":70,"correlation":70)") +
         ",\n" + span("cuda_runtime", "cudaLaunchKernel", host, 4, 5, R"("correlation":77)") + ",\n" +
         span("cuda_runtime", "cudaMemcpyAsync", host, 12, 13, R"("correlation":78)") + ",\n" +
         span("kernel", "sgemm", rank, 10, 50, R"("External id":70,"stream":7,"correlation":70)") + ",\n" +
         span("kernel", "ncclDevKernel_AllReduce", rank, 40, 80, R"("stream":20)") + ",\n" +
         span("gpu_memcpy", "Memcpy HtoD", rank, 70, 75, R"("stream":21,"correlation":78)") + ",\n" +
         span("kernel", "sgemm", rank, 90, 120, R"("stream":7,"correlation":77)");
}

class RunProfileTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& events) {
    folder_.write(name, "{\"traceEvents\":[" + events + "]}");
    return (folder_.path() / name).string();
  }
  std::string problem(const std::string& events, int rank) {
    try {
      (void)read_run(write("broken.json", events), rank);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no problem";
  }
  test::ScratchFolder folder_;
};

// Parts from 0 to 120: GEMMs 40 + 30; copy alone 0, 5 beside communication; communication alone 50-70 and
// 75-80; idle 0-10 and 80-90.
TEST_F(RunProfileTest, PartsAddUpToTheStep) {
  const RunProfile profile = profile_of(read_run(write("a.json", rank_events(0)), 0));
  EXPECT_NEAR(profile.step, 120e-6, 1e-12);
  EXPECT_NEAR(profile.compute, 70e-6, 1e-12);
  EXPECT_NEAR(profile.copies, 5e-6, 1e-12);
  EXPECT_NEAR(profile.communication, 25e-6, 1e-12);
  EXPECT_NEAR(profile.idle, 20e-6, 1e-12);
}

TEST_F(RunProfileTest, WorkBelongsToTheOperatorThatLaunchedIt) {
  const RunProfile profile = profile_of(read_run(write("a.json", rank_events(0)), 0));
  EXPECT_NEAR(profile.operators.at("aten::mm").seconds, 70e-6,
              1e-12);  // launched within it, whatever ids say
  EXPECT_NEAR(profile.operators.at("(no operator)").seconds, 45e-6, 1e-12);
  EXPECT_NEAR(profile.kernels.at("sgemm").count, 2, 1e-12);
  EXPECT_NEAR(profile.families.at("communication").seconds, 40e-6, 1e-12);
  EXPECT_NEAR(profile.families.at("copy").seconds, 5e-6, 1e-12);
}

/// A kernel of the step before runs until 30: the step lasts from there to the end of its own kernel.
TEST_F(RunProfileTest, StepBeginsWhenTheWorkBeforeItIsOver) {
  const RecordedRun run =
      read_run(write("a.json", span("cuda_runtime", "cudaLaunchKernel", 9, 1, 2, R"("correlation":1)") +
                                   ",\n" + span("user_annotation", "ProfilerStep#0", 9, 10, 40, "") + ",\n" +
                                   span("cuda_runtime", "cudaLaunchKernel", 9, 11, 12, R"("correlation":2)") +
                                   ",\n" + span("kernel", "sgemm", 0, 5, 30, R"("correlation":1)") + ",\n" +
                                   span("kernel", "sgemm", 0, 30, 80, R"("correlation":2)")),
               0);
  EXPECT_NEAR(run.step_seconds(), 50e-6, 1e-12);
  EXPECT_NEAR(profile_of(run).compute, 50e-6, 1e-12);
}

/// A CUDA graph: two operators, their launches at the moment at which both begin and end.
TEST_F(RunProfileTest, OperatorsOfOneMomentAreToldApartByTheirIds) {
  const auto launch = [](int correlation, int id) {
    return span("cuda_runtime", "cudaLaunchKernel", 9, 10, 10,
                fmt::format(R"("correlation":{},"External id":{})", correlation, id));
  };
  const RunProfile profile = profile_of(
      read_run(write("a.json", span("cpu_op", "layer 0", 9, 10, 10, R"("External id":3)") + ",\n" +
                                   span("cpu_op", "layer 1", 9, 10, 10, R"("External id":4)") + ",\n" +
                                   launch(1, 3) + ",\n" + launch(2, 4) + ",\n" +
                                   span("kernel", "sgemm", 0, 20, 50, R"("correlation":1)") + ",\n" +
                                   span("kernel", "sgemm", 0, 50, 100, R"("correlation":2)")),
               0));
  EXPECT_NEAR(profile.operators.at("layer 0").seconds, 30e-6, 1e-12);
  EXPECT_NEAR(profile.operators.at("layer 1").seconds, 50e-6, 1e-12);
}

TEST_F(RunProfileTest, OfSeveralRanksOneIsRead) {
  const std::string file = write("two.json", rank_events(0) + ",\n" + rank_events(3));
  const RecordedRun run = read_run(file, 3);
  EXPECT_EQ(run.work.size(), 4U);
  EXPECT_EQ(run.processes, (std::set<std::int64_t>{3, 1003}));
  EXPECT_THAT(problem(rank_events(0), 2),
              HasSubstr("the timeline has no rank 2; it has 1 ranks, the first is 0"));
}

TEST_F(RunProfileTest, CountsWhatItLeavesOut) {
  const std::string without_time = R"({"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":1,"args":{}})";
  EXPECT_EQ(read_run(write("a.json", rank_events(0)), 0).left_out, 0U);
  EXPECT_EQ(read_run(write("b.json", rank_events(0) + ",\n" + without_time + ",\n{\"ph\":,}"), 0).left_out,
            2U);
}

TEST_F(RunProfileTest, SaysWhatIsWrong) {
  EXPECT_THAT(problem(process("rank 0 GPU (x)", 0), 0), HasSubstr("no work on a GPU"));
  folder_.write("other.json", "{\"events\":[]}");
  EXPECT_THROW((void)read_run((folder_.path() / "other.json").string(), 0), InputError);
  EXPECT_THROW((void)read_run((folder_.path() / "missing.json").string(), 0), InputError);
}

TEST_F(RunProfileTest, BothStandInOneTimeline) {
  const RecordedRun a = read_run(write("a.json", rank_events(0)), 0);
  const RecordedRun b = read_run(write("b.json", rank_events(1)), 1);
  const std::string file = (folder_.path() / "both.json.gz").string();
  write_side_by_side(a, b, file);
  const RecordedRun both = read_run(file, 0);
  EXPECT_EQ(both.work.size(), 8U);
  UnpackedBlocks blocks{file};
  const std::string text{blocks.next()};
  EXPECT_THAT(text, HasSubstr("A: rank 0 GPU (any)"));
  EXPECT_THAT(text, HasSubstr("B: rank 1 host"));
}

TEST(RunProfile, FamiliesFollowTheLaunchingOperator) {
  const test::ScratchFolder folder;
  folder.write("a.json", testing::KinetoText{}
                             .op("aten::mm", 0, 20)
                             .call("cudaLaunchKernel", 5, 5, 1)
                             .kernel("kernel_57", 20, 100, 7, 1)
                             .op("dispatch", 30, 20)
                             .call("cudaLaunchKernel", 35, 5, 2)
                             .kernel("void deep_ep::intranode::dispatch<8>(int4*)", 130, 200, 7, 2)
                             .text());
  const RunProfile profile = profile_of(read_run((folder / "a.json").string(), 0));
  EXPECT_NEAR(profile.families.at("gemm").seconds, 100e-6, 1e-12);
  EXPECT_NEAR(profile.families.at("communication").seconds, 200e-6, 1e-12);
  EXPECT_NEAR(profile.communication, 200e-6, 1e-12);
  EXPECT_NEAR(profile.compute, 100e-6, 1e-12);
}

}  // namespace
}  // namespace lockstep::comparison
