#include "traces/chakra/trace_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::testing {
namespace {

using chakra::is_chakra;
using chakra::summarise;
using chakra::TraceSummary;

class TraceSummaryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& name, const std::string& content) const {
    folder_.write(name, content);
    return folder_ / name;
  }
  test::ScratchFolder folder_;
};

TEST_F(TraceSummaryTest, OfGpuWorkCountsAndExplains) {
  EtWriter trace;
  const auto first = trace.compute("a", {77}, 1500);
  const auto reduced = trace.all_reduce({first}, 4096);
  trace.compute("b", {reduced}, 500);
  const TraceSummary made = summarise(file("gpu.et", trace.text()));
  EXPECT_EQ(made.kind, "GPU work");
  EXPECT_EQ(made.kernels, 2U);
  EXPECT_DOUBLE_EQ(made.gpu_seconds, 2e-3);
  EXPECT_EQ(made.collectives.at("all_reduce").count, 1U);
  EXPECT_EQ(made.collectives.at("all_reduce").bytes, 4096);
  EXPECT_EQ(made.dependencies, 2U);
  EXPECT_EQ(made.report.count_of("dependency on a node that the file has not"), 1U);
}

TEST_F(TraceSummaryTest, OfJsonIsThatOfConverters) {
  const auto path = file("graph.json", R"({"workload_graph": [
    {"Id": 1, "Name": "aten::mm", "NodeType": 4, "runtime": 5, "is_cpu_op": true, "data_deps": []},
    {"Id": 2, "Name": "gemm", "NodeType": 4, "runtime": 40, "is_cpu_op": false, "data_deps": [1]}]})");
  EXPECT_TRUE(is_chakra(path));
  const TraceSummary made = summarise(path);
  EXPECT_EQ(made.host, 1U);
  EXPECT_EQ(made.kernels, 1U);
  EXPECT_EQ(made.dependencies, 1U);
}

TEST_F(TraceSummaryTest, OtherTracesAreTold) {
  EXPECT_FALSE(is_chakra(file("kineto.json", R"({"traceEvents": [{"name": "x", "args": {"attr": 1}}]})")));
  EXPECT_FALSE(is_chakra(file("et.json", R"({"schema": "1.1.0", "nodes": [{"attr": []}]})")));
  EXPECT_FALSE(is_chakra(file("list.json", "[]")));
  EXPECT_FALSE(is_chakra(folder_ / "missing.et"));
}

/// Schema 0.0.1: recognised, with what to do about it.
TEST_F(TraceSummaryTest, TheFirstSchemaSaysWhatToDo) {
  const std::string node =
      number_field(1, 1) + bytes_field(2, "a") + number_field(3, 3) + number_field(12, 9);
  const auto path = file("old.et", framed(node));
  EXPECT_TRUE(is_chakra(path));
  EXPECT_THAT([&] { (void)summarise(path); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("write it anew with Chakra 0.0.4")));
}

}  // namespace
}  // namespace lockstep::testing
