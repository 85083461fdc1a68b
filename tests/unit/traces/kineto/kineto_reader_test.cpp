#include "traces/kineto/kineto_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/error.hpp"
#include "tests/unit/traces/small_job.hpp"
#include "traces/kineto/kineto_event.hpp"
#include "traces/kineto/split_ranks.hpp"

namespace lockstep::kineto {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NanosecondsOf, ReadsWholeFractionalAndOddNumbers) {
  EXPECT_EQ(nanoseconds_of("1694128201435418"),
            1694128201435418000);  // does not fit a double's 53 bits in ns
  EXPECT_EQ(nanoseconds_of("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(nanoseconds_of("0.5"), 500);
  EXPECT_EQ(nanoseconds_of("1.2345678"), 1234);
  EXPECT_EQ(nanoseconds_of("-1.5"), -1500);
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1500000);
  EXPECT_EQ(nanoseconds_of(""), std::nullopt);
  EXPECT_EQ(nanoseconds_of("abc"), std::nullopt);
  EXPECT_EQ(nanoseconds_of("1x"), std::nullopt);
  EXPECT_EQ(nanoseconds_of("99999999999999999999"), std::nullopt);
}

TEST(CallKindOf, KnowsTheRuntimesOfBothVendorsAndTheDriver) {
  EXPECT_EQ(call_kind("cudaLaunchKernelExC"), CallKind::Launch);
  EXPECT_EQ(call_kind("cuLaunchKernelEx"), CallKind::Launch);
  EXPECT_EQ(call_kind("hipExtModuleLaunchKernel"), CallKind::Launch);
  EXPECT_EQ(call_kind("hipMemcpyWithStream"), CallKind::Launch);
  EXPECT_EQ(call_kind("cudaGraphLaunch"), CallKind::GraphLaunch);
  EXPECT_EQ(call_kind("cudaStreamWaitEvent"), CallKind::StreamWait);
  EXPECT_EQ(call_kind("cudaEventQuery"), CallKind::Other);
  EXPECT_EQ(call_kind("cudaFree"), CallKind::Memory);
  EXPECT_EQ(call_kind("INVALID"), CallKind::Other);
}

class KinetoReader : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;

  RecordedTrace read(const std::string& text) {
    const auto path = directory_.path() / "trace.json";
    std::ofstream{path, std::ios::binary} << text;
    return read_kineto(path.string());
  }
};

/// PyTorch 1.8's form: other categories, thread numbers as text, whole microseconds.
const std::string kOf2021 =
    R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100", "numSms": 80}, {"id": 1, "name": "Tesla V100"}],
"traceEvents": [
{"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 9, "tid": "9", "ts": 1000, "dur": 30, "args": {"External id": 2, "Input Dims": [[4, 5], [5, 6]]}},
{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "9", "ts": 1010, "dur": 5, "args": {"correlation": 7, "external id": 2}},
{"ph": "X", "cat": "Kernel", "name": "sgemm", "pid": 0, "tid": "stream 7", "ts": 1018, "dur": 40, "args": {"device": 0, "stream": 7, "correlation": 7}},
{"ph": "f", "id": 7, "pid": 0, "tid": "stream 7", "ts": 1018, "cat": "async", "name": "launch"},
{"ph": "M", "name": "thread_name", "pid": 9, "tid": "9", "ts": 0, "args": {"name": "main"}}
]})";

TEST_F(KinetoReader, TellsTimelinesOfASimulation) {
  EXPECT_TRUE(read(R"({"simulated_by": "lockstep", "traceEvents": []})").is_simulated);
  EXPECT_FALSE(read(R"({"replayed_by": "lockstep", "traceEvents": []})").is_simulated);
  EXPECT_FALSE(read(kOf2021).is_simulated);
}

TEST_F(KinetoReader, ReadsTheNamesOf2021) {
  const RecordedTrace trace = read(kOf2021);
  ASSERT_EQ(trace.operators.size(), 1U);
  EXPECT_EQ(trace.names.text(trace.operators[0].input_dims), "[[4, 5], [5, 6]]");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].kind, CallKind::Launch);
  ASSERT_EQ(trace.work.size(), 1U);
  EXPECT_EQ(trace.work[0].start, 1018000);
  EXPECT_EQ(trace.work[0].stream, 7);
  EXPECT_THAT(trace.gpu_names, ElementsAre("Tesla V100", "Tesla V100"));
  EXPECT_THAT(trace.multiprocessors, ElementsAre(80, -1));
  ASSERT_EQ(trace.threads.size(), 1U);
  EXPECT_EQ(trace.threads[0].name, "main");
}

TEST_F(KinetoReader, AddsTheBaseTimeOfNewTracesAndReadsWhatNcclSays) {
  const RecordedTrace trace = read(R"({"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 5.125, "dur": 2.5, "args": {"stream": 20, "correlation": 1,
 "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "Process Group Name": "0"}}],
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
"baseTimeNanoseconds": 1700000000000000000})");
  ASSERT_EQ(trace.work.size(), 1U);
  EXPECT_EQ(trace.work[0].start, 1700000000000005125);
  EXPECT_EQ(trace.work[0].duration(), 2500);
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.world_size, 2);
  ASSERT_EQ(trace.communications.size(), 1U);
  EXPECT_EQ(trace.communications[0].in_elements, 1024);
  ASSERT_EQ(trace.groups.size(), 1U);
  EXPECT_THAT(trace.groups[0].ranks, ElementsAre(0U, 1U));
}

TEST_F(KinetoReader, CountsWhatIsOdd) {
  const RecordedTrace trace = read(R"({"traceEvents": [
{"ph": "X", "cat": "novel", "name": "a", "ts": 1, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "b", "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "c", "ts": 1, "dur": -4},
{"ph": "X", "cat": "cpu_op", "name": "d", "ts": 1, "dur": 0},
{"ph": oops},
{"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1}]})");
  EXPECT_EQ(trace.report.count_of("unknown category"), 1U);
  EXPECT_EQ(trace.report.count_of("event without a time"), 1U);
  EXPECT_EQ(trace.report.count_of("negative duration"), 1U);
  EXPECT_EQ(trace.report.count_of("duration 0"), 1U);
  EXPECT_EQ(trace.report.count_of("event that cannot be parsed"), 1U);
  EXPECT_EQ(trace.report.count_of("events without bearing on time"), 1U);
  EXPECT_EQ(trace.operators.size(), 2U);
  EXPECT_EQ(trace.events, 6U);
}

TEST_F(KinetoReader, TellsWhatWasRecordedBesideTimes) {
  EXPECT_THAT(read(R"({"with_flops": 1, "record_shapes": 0, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {"External id": 1, "Call stack": ""}}]})")
                  .observers,
              ElementsAre("with_flops"));
  const std::string before_1_12 = R"({"traceEvents": [
{"ph": "X", "cat": "Operator", "name": "a", "ts": 1, "dur": 1, "args": {"Input Dims": [], "Input type": []}},
{"ph": "X", "cat": "Operator", "name": "b", "ts": 3, "dur": 1, "args": {"Call stack": "f.py(1): f"}},
{"ph": "i", "cat": "", "name": "[memory]", "ts": 3, "s": "t", "args": {"Bytes": 4}}]})";
  EXPECT_THAT(read(before_1_12).observers, ElementsAre("profile_memory", "record_shapes", "with_stack"));
}

TEST_F(KinetoReader, SaysWhatAFileIsNot) {
  EXPECT_THAT([this] { (void)read("{}"); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("not a trace of PyTorch's profiler")));
  EXPECT_THAT([this] { (void)read(kOf2021.substr(0, 400)); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("the file is cut off")));
  EXPECT_THAT([] { (void)read_kineto("/no/such/file"); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("cannot be read")));
}

/// Whatever bytes are broken, the answer is a trace or an InputError.
TEST_F(KinetoReader, SurvivesBrokenBytes) {
  std::mt19937 random{1};
  for (int round = 0; round < 3000; ++round) {
    std::string text = kOf2021;
    for (int flips = 0; flips < 3; ++flips) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    if (round % 3 == 0) {
      text.resize(random() % text.size());
    }
    try {
      (void)read(text);
    } catch (const InputError&) {
    }
  }
}

/// Two ranks of two nodes in one file, as `lockstep run` writes them: processes say whose work is, devices
/// are ordinals within the nodes.
TEST_F(KinetoReader, SplitsATimelineOfSeveralRanks) {
  const auto parts = split_ranks(read(R"json({"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1000, "tid": 0, "args": {"name": "rank 0 host"}},
{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0 GPU (node0.gpu0)"}},
{"ph": "M", "name": "process_name", "pid": 1001, "tid": 0, "args": {"name": "rank 1 host"}},
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "rank 1 GPU (node1.gpu0)"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1001, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 3, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 1, "tid": 7, "ts": 3, "dur": 9, "args": {"device": 0, "stream": 7, "correlation": 1}}]})json"));
  ASSERT_EQ(parts.size(), 2U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(parts[rank].rank, static_cast<std::int64_t>(rank));
    ASSERT_EQ(parts[rank].work.size(), 1U);
    EXPECT_EQ(parts[rank].names.text(parts[rank].work[0].name), rank == 0 ? "a" : "b");
    EXPECT_EQ(parts[rank].calls.size(), 1U);
  }
}

}  // namespace
}  // namespace lockstep::kineto
