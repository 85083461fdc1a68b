#include "traces/chrome_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

#include "base/error.hpp"
#include "small_job.hpp"

namespace lockstep::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

/// Nanoseconds of a `ts` or `dur`: they must be whole.
std::int64_t ns(const json& microseconds) {
  const double nanoseconds = microseconds.get<double>() * 1e3;
  EXPECT_NEAR(nanoseconds, std::round(nanoseconds), 1e-6);
  return std::llround(nanoseconds);
}

class ChromeTrace : public ::testing::Test {
 protected:
  ChromeTraceOptions options() const {
    ChromeTraceOptions options;
    options.path = directory_.path() / "timeline.json.gz";
    return options;
  }

  /// Writes two steps of the small job and reads the first file back.
  json written(const ChromeTraceOptions& options, const Job& job = small_job()) {
    ChromeTraceWriter writer{job, two_gpus(), options};
    writer.write(spans_of_small_job(2));
    writer.finish();
    events_ = writer.events();
    text_ = gunzip(writer.paths().front());
    return json::parse(text_);
  }

  TemporaryDirectory directory_;
  std::string text_;
  std::uint64_t events_ = 0;
};

TEST_F(ChromeTrace, CountsItsEvents) {
  // Per rank and step: 16 spans, 5 of them launches and 5 launched, each of these with half an arrow, and one
  // ProfilerStep: 16 + 10 + 1. Two ranks, two steps.
  const json trace = written(options());
  std::size_t events = 0;
  for (const json& event : trace["traceEvents"]) {
    events += event["ph"] != "M" ? 1 : 0;
  }
  EXPECT_EQ(events, 4 * 27);
  EXPECT_EQ(events_, events);
}

/// Kineto's argument, which HTA's memory bandwidth reads.
TEST_F(ChromeTrace, CopiesHaveTheirBandwidth) {
  const std::vector<json> copies = events_with(written(options()), "cat", "gpu_memcpy");
  ASSERT_FALSE(copies.empty());
  for (const json& copy : copies) {
    const double rate = copy["args"]["bytes"].get<double>() / static_cast<double>(ns(copy["dur"]));
    EXPECT_NEAR(copy["args"]["memory bandwidth (GB/s)"].get<double>(), rate, 0.0006);
  }
}

TEST_F(ChromeTrace, SaysItsRankWhereHtaLooks) {
  ChromeTraceOptions one = options();
  one.ranks = {1};
  written(one);
  std::smatch match;
  const std::string head = text_.substr(0, 1024);
  ASSERT_TRUE(std::regex_search(head, match, std::regex{R"("rank":\s+(\d+))"}));
  EXPECT_EQ(match[1], "1");
}

// A run's host times are the simulation's, a replay's those of the trace, with the profiler's cost.
TEST_F(ChromeTrace, SaysWhatIsSimulated) {
  const json run = written(options());
  EXPECT_EQ(run.at("simulated_by"), "lockstep");
  EXPECT_FALSE(run.contains("replayed_by"));
  ChromeTraceOptions replay = options();
  replay.of_a_recording = true;
  const json replayed = written(replay);
  EXPECT_EQ(replayed.at("replayed_by"), "lockstep");
  EXPECT_FALSE(replayed.contains("simulated_by"));
}

TEST_F(ChromeTrace, SlicesOfALaneNest) {
  const json trace = written(options());
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  for (const json& event : events_with(trace, "ph", "X")) {
    const std::int64_t start = ns(event["ts"]);
    lanes[{event["pid"], event["tid"]}].emplace_back(start, start + ns(event["dur"]));
  }
  ASSERT_EQ(lanes.size(), 8);  // two ranks of two threads and two streams
  for (auto& [lane, slices] : lanes) {
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<std::int64_t> open;
    for (const auto& [start, end] : slices) {
      while (!open.empty() && open.back() <= start) {
        open.pop_back();
      }
      EXPECT_TRUE(open.empty() || end <= open.back()) << "lane " << lane.first << "/" << lane.second;
      open.push_back(end);
    }
  }
}

TEST_F(ChromeTrace, ArrowsLeadFromALaunchToWhatItLaunched) {
  const json trace = written(options());
  std::map<std::int64_t, json> from;
  for (const json& start : events_with(trace, "ph", "s")) {
    EXPECT_TRUE(from.emplace(start["id"], start).second) << "id used twice";
  }
  const auto encloses = [&](const json& end_of_arrow, const std::string& category) {
    for (const json& slice : events_with(trace, "cat", category)) {
      if (slice["pid"] == end_of_arrow["pid"] && slice["tid"] == end_of_arrow["tid"] &&
          ns(slice["ts"]) <= ns(end_of_arrow["ts"]) &&
          ns(end_of_arrow["ts"]) <= ns(slice["ts"]) + ns(slice["dur"])) {
        return true;
      }
    }
    return false;
  };
  for (const auto& [id, start] : from) {
    EXPECT_TRUE(encloses(start, "cuda_runtime")) << start;
  }
  const std::vector<json> ends = events_with(trace, "ph", "f");
  EXPECT_EQ(ends.size(), 20);
  for (const json& end : ends) {
    EXPECT_EQ(end["bp"], "e");
    EXPECT_TRUE(encloses(end, "kernel") || encloses(end, "gpu_memcpy") || encloses(end, "gpu_memset")) << end;
    ASSERT_TRUE(from.contains(end["id"]));
    EXPECT_LT(ns(from.at(end["id"])["ts"]), ns(end["ts"]));
    from.erase(end["id"].get<std::int64_t>());
  }
  EXPECT_TRUE(from.empty());
}

TEST_F(ChromeTrace, EveryKernelHasItsLaunch) {
  ChromeTraceOptions one = options();
  one.ranks = {0};
  const json trace = written(one);
  std::map<int, json> launches;
  for (const json& call : events_with(trace, "cat", "cuda_runtime")) {
    EXPECT_TRUE(launches.emplace(call["args"]["correlation"], call).second) << call;
  }
  const std::map<std::string, std::string> call_for{
      {"kernel", "cudaLaunchKernel"}, {"gpu_memcpy", "cudaMemcpyAsync"}, {"gpu_memset", "cudaMemsetAsync"}};
  int launched = 0;
  for (const auto& [category, call] : call_for) {
    for (const json& slice : events_with(trace, "cat", category)) {
      ++launched;
      ASSERT_TRUE(launches.contains(slice["args"]["correlation"]));
      const json& launch = launches[slice["args"]["correlation"]];
      EXPECT_EQ(launch["name"], call);
      EXPECT_EQ(launch["args"]["External id"], slice["args"]["External id"]);
      EXPECT_EQ(slice["args"]["stream"], slice["tid"]);
    }
  }
  EXPECT_EQ(launched, 10);
}

TEST_F(ChromeTrace, LeavesOutEarlySteps) {
  ChromeTraceOptions late = options();
  late.ranks = {0};
  late.first_step = 1;
  late.left_out = "half of it";
  const json trace = written(late);
  EXPECT_EQ(trace["shown"], "half of it");
  EXPECT_EQ(events_, 16 + 10 + 1);
  const std::vector<json> steps = events_with(trace, "name", "ProfilerStep#1");
  ASSERT_EQ(steps.size(), 1);
  EXPECT_GT(ns(steps.front()["ts"]), 0);  // it begins where the one that is left out has ended
  EXPECT_TRUE(events_with(trace, "name", "ProfilerStep#0").empty());
}

TEST_F(ChromeTrace, OperatorsAndLaunchesShareExternalIds) {
  ChromeTraceOptions one = options();
  one.ranks = {0};
  const json trace = written(one);
  const std::vector<json> operators = events_with(trace, "name", "aten::addmm");
  const std::vector<json> kernels = events_with(trace, "name", "sgemm_128x64");
  ASSERT_EQ(operators.size(), 2);
  ASSERT_EQ(kernels.size(), 4);  // two of the main thread, two of the autograd thread
  // Three ranges a step: ## forward ## 1, aten::addmm 2, AddmmBackward0 3; the second step starts at 4.
  EXPECT_EQ(operators[0]["args"]["External id"], 2);
  EXPECT_EQ(operators[1]["args"]["External id"], 5);
  EXPECT_EQ(kernels[0]["args"]["External id"], 2);
  EXPECT_EQ(kernels[1]["args"]["External id"], 3);
  EXPECT_EQ(operators[0]["cat"], "cpu_op");
  EXPECT_EQ(events_with(trace, "name", "AddmmBackward0")[0]["cat"], "cpu_op");
  EXPECT_EQ(events_with(trace, "name", "## forward ##")[0]["cat"], "user_annotation");
}

TEST_F(ChromeTrace, CollectiveTellsWaitingFromTransfer) {
  const json trace = written(options());
  const std::vector<json> slices = events_with(trace, "name", "ncclDevKernel_AllReduce_Sum_f32");
  ASSERT_EQ(slices.size(), 4);
  // Rank 0, step 0: arrives at 30 us, the other rank at 33 us, both end at 60 us.
  const json& args = slices[0]["args"];
  EXPECT_EQ(slices[0]["ts"], 30.0);
  EXPECT_EQ(slices[0]["dur"], 30.0);
  EXPECT_EQ(args["waiting_us"], 3.0);
  EXPECT_EQ(args["transfer_us"], 27.0);
  EXPECT_EQ(args["Collective name"], "allreduce");
  EXPECT_EQ(args["In msg nelems"], 1048576 / 4);
  EXPECT_EQ(args["dtype"], "Float");
  EXPECT_EQ(args["Group size"], 2);
  EXPECT_EQ(args["Process Group Name"], "world");
  EXPECT_EQ(args["Process Group Ranks"], "[0, 1]");
  EXPECT_EQ(args["Seq"], 0);
  EXPECT_EQ(slices[1]["args"]["Seq"], 1);
  EXPECT_EQ(args["stream"], 20);
}

TEST_F(ChromeTrace, StepsSpanTheMainThreadsWork) {
  ChromeTraceOptions one = options();
  one.ranks = {0};
  const json trace = written(one);
  const std::vector<json> steps = events_with(trace, "name", "ProfilerStep#1");
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0]["cat"], "user_annotation");
  // The step goes from the end of step 0's device synchronise, at 81 us, to step 1's, at 181.0003 us.
  EXPECT_EQ(ns(steps[0]["ts"]), 81000);
  EXPECT_EQ(ns(steps[0]["dur"]), 100000);
  EXPECT_EQ(steps[0]["tid"], steps[0]["pid"]);
}

TEST_F(ChromeTrace, StepsThatRangesSayAreTheOnlyOnes) {
  Job job = small_job();
  Program replayed = *job.programs.front();
  replayed.names.front() = "ProfilerStep#10";
  job.programs.front() = std::make_shared<const Program>(replayed);
  ChromeTraceOptions one = options();
  one.ranks = {0};
  EXPECT_TRUE(events_with(written(one, job), "name", "ProfilerStep#1").empty());
}

TEST_F(ChromeTrace, ShowsNoiseOnTheHostThread) {
  const Job job = small_job();
  ChromeTraceOptions noisy = options();
  noisy.noise = {"garbage_collection", "checkpoint"};
  ChromeTraceWriter writer{job, two_gpus(), noisy};
  TimelineSpan span;
  span.start = 2e-3;
  span.end = 5e-3;
  span.rank = 1;
  span.instruction = 1;
  span.kind = SpanKind::Noise;
  writer.write({&span, 1});
  writer.finish();
  const json trace = json::parse(gunzip(writer.paths().front()));
  const std::vector<json> slices = events_with(trace, "name", "noise: checkpoint");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(ns(slices[0]["ts"]), 2'000'000);
  EXPECT_EQ(ns(slices[0]["dur"]), 3'000'000);
  EXPECT_EQ(slices[0]["cat"], "user_annotation");
}

TEST_F(ChromeTrace, FilePerRankForHta) {
  ChromeTraceOptions apart = options();
  apart.file_per_rank = true;
  apart.nccl_names = NcclNames::Kernel;
  const json trace = written(apart);
  EXPECT_THAT(directory_.files(), ElementsAre("timeline.rank0.json.gz", "timeline.rank1.json.gz"));
  const json other = json::parse(gunzip(directory_.path() / "timeline.rank1.json.gz"));
  EXPECT_EQ(other["distributedInfo"]["rank"], 1);
  EXPECT_EQ(events_with(other, "name", "ncclKernel_AllReduce_Sum_f32").size(), 2);
  for (const json& event : events_with(other, "ph", "X")) {
    EXPECT_TRUE(event["pid"] == 1 || event["pid"] == 1001);
  }
}

TEST_F(ChromeTrace, NamesEveryLane) {
  const json trace = written(options());
  std::set<std::pair<int, int>> named, used;
  for (const json& event : events_with(trace, "name", "thread_name")) {
    named.emplace(event["pid"], event["tid"]);
  }
  for (const json& event : events_with(trace, "ph", "X")) {
    used.emplace(event["pid"], event["tid"]);
  }
  EXPECT_EQ(named, used);
}

TEST_F(ChromeTrace, RanksOfOneProgramMayDiffer) {
  // Both ranks run one program; rank 1's kernel and collective are others, in a group of another name.
  Program program;
  program.streams = {"compute"};
  program.groups = {"tensor"};
  program.kernels = {{"small", DataType::FP32, Timed{}}, {"large", DataType::FP32, Timed{}}};
  program.collectives = {{CollectiveKind::AllGather, DataType::FP16, 0, Bytes{1024}, {}, 0},
                         {CollectiveKind::AllGather, DataType::FP16, 0, Bytes{4096}, {}, 0}};
  Instruction launch, collective;
  launch.op = Opcode::Launch;
  collective.op = Opcode::Collective;
  launch.per_rank = collective.per_rank = true;
  program.threads = {{"main", {launch, collective}}};
  Job job;
  job.programs = {std::make_shared<const Program>(program)};
  job.groups = {{"tensor0", {0}}, {"tensor1", {1}}};
  job.ranks = {{0, 0, {0}, {0}, {0}}, {1, 0, {1}, {1}, {1}}};

  ChromeTraceWriter writer{job, two_gpus(), options()};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    TimelineSpan kernel{1e-6, 2e-6, 1e-6, rank, 0, 1, 0, SpanKind::Kernel, 0, 0, 0};
    TimelineSpan gather{2e-6, 3e-6, 2e-6, rank, 1, 2, 0, SpanKind::Collective, 0, 0, 0};
    writer.write({&kernel, 1});
    writer.write({&gather, 1});
  }
  writer.finish();

  const json trace = json::parse(gunzip(options().path));
  EXPECT_EQ(events_with(trace, "name", "small").at(0)["pid"], 0);
  EXPECT_EQ(events_with(trace, "name", "large").at(0)["pid"], 1);
  const std::vector<json> gathers = events_with(trace, "name", "ncclDevKernel_AllGather");
  EXPECT_EQ(gathers.at(0)["args"]["Process Group Name"], "tensor0");
  EXPECT_EQ(gathers.at(1)["args"]["Process Group Name"], "tensor1");
  EXPECT_EQ(gathers.at(0)["args"]["Out msg nelems"], 1024 / 2);
  EXPECT_EQ(gathers.at(1)["args"]["Out msg nelems"], 4096 / 2);
}

TEST_F(ChromeTrace, SameSpansGiveTheSameBytesWithAnyNumberOfThreads) {
  ChromeTraceOptions none = options();
  none.compression_threads = 0;
  written(none);
  const std::string expected = text_;
  ChromeTraceOptions three = options();
  three.compression_threads = 3;
  written(three);
  EXPECT_EQ(text_, expected);
}

TEST_F(ChromeTrace, AbandonedWriterLeavesNoFile) {
  const Job job = small_job();
  {
    ChromeTraceWriter writer{job, two_gpus(), options()};
    writer.write(spans_of_small_job(2));
    EXPECT_THAT(directory_.files(), ElementsAre(::testing::EndsWith(".part")));
  }
  EXPECT_TRUE(directory_.files().empty());
}

TEST_F(ChromeTrace, RefusesWhatItCannotWrite) {
  const Job job = small_job();
  ChromeTraceOptions nowhere = options();
  nowhere.path = "/dev/null/timeline.json.gz";
  EXPECT_THROW((ChromeTraceWriter{job, two_gpus(), nowhere}), InputError);
  ChromeTraceOptions unknown_rank = options();
  unknown_rank.ranks = {2};
  EXPECT_THROW((ChromeTraceWriter{job, two_gpus(), unknown_rank}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::test
