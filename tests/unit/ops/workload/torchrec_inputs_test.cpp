// The input distribution against two traces of TorchRec: ../shared/data/traces/dlrm_8xv100 and
// torchrec_pipeline_4xv100, kernel by kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/embedding_job.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

const std::string kTraces = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/";
const std::string kOneStep = kTraces + "dlrm_8xv100/kineto/worker0_step_12.1694128201545.pt.trace.json.gz";
const std::string kPipeline =
    kTraces + "torchrec_pipeline_4xv100/pid29220.1698955894936168439.pt.trace.json.gz";

std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 13> kKinds{{{"all_to_all", "all_to_all"},
                                                                        {"SendRecv", "all_to_all"},
                                                                        {"permute_2D_lengths", "lengths"},
                                                                        {"permute_2D_data", "data"},
                                                                        {"DeviceScanInit", "scan init"},
                                                                        {"DeviceScanKernel", "scan"},
                                                                        {"CatArray", "concat"},
                                                                        {"HtoD", "to device"},
                                                                        {"DtoH", "to host"},
                                                                        {"unrolled_elementwise", "cast"},
                                                                        {"Fill", "fill"},
                                                                        {"fill", "fill"},
                                                                        {"reduce_kernel", "reduce"}}};
  return testing::first_kind(kernel, kKinds);
}

/// Kernels launched in the first range of that name that begins after @p from, and when it ended.
std::vector<std::string> launched_within(const json& trace, const std::string& range, double& from) {
  double start = 0, end = 0;
  json::number_integer_t thread = 0;
  for (const json& e : trace["traceEvents"]) {
    if (e.value("name", "") == range && e.value("cat", "") == "user_annotation" && e["ts"] > from &&
        (end == 0 || e["ts"] < start)) {
      start = e["ts"];
      end = start + e["dur"].get<double>();
      thread = e["tid"];
    }
  }
  std::map<double, std::int64_t> calls;
  std::map<std::int64_t, std::string> kernels;
  for (const json& e : trace["traceEvents"]) {
    const std::string category = e.value("cat", "");
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
      kernels[e["args"]["correlation"]] = e["name"];
    } else if (category == "cuda_runtime" && e["tid"] == thread && e["ts"] >= start && e["ts"] < end) {
      calls[e["ts"]] = e["args"].value("correlation", std::int64_t{-1});
    }
  }
  std::vector<std::string> kinds;
  for (const auto& [time, correlation] : calls) {
    if (kernels.contains(correlation)) {
      kinds.push_back(kind_of(kernels.at(correlation)));
    }
  }
  from = end;
  return kinds;
}

/// Kernels in our program: the @p nth range of that name.
std::vector<std::string> ours_within(const Job& job, const std::string& range, int nth) {
  std::vector<std::string> kinds;
  const Program& program = *job.programs[0];
  int depth = 0, seen = 0;
  for (const Instruction& i : program.threads[0].instructions) {
    if (i.op == Opcode::RangeBegin) {
      const bool is_it = depth == 0 && program.names[i.operand] == range && seen++ == nth;
      depth += depth > 0 || is_it ? 1 : 0;
    } else if (i.op == Opcode::RangeEnd) {
      depth -= depth > 0 ? 1 : 0;
    } else if (depth > 0 && i.op == Opcode::Launch) {
      const auto kernel = i.per_rank ? job.ranks[0].kernel_slots[i.operand] : i.operand;
      kinds.push_back(kind_of(program.kernels[kernel].name));
    } else if (depth > 0 && i.op == Opcode::Collective) {
      kinds.push_back("all_to_all");
    }
  }
  return kinds;
}

/// 24 tables on 8 ranks or as many as ranks hold; 2 small ones copied.
Job ours() {
  PlannedJob planned_job{.spec = tables_only({{.rows = {1000}, .count = 26, .dimension = 16}}),
                         .plan = {},
                         .batch = 128,
                         .nodes = std::vector<int>(8, 0),
                         .input_distribution = true,
                         .pipeline = InputPipeline::SparseDist};
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    planned_job.plan.push_back(
        planned({3 * rank, 3 * rank + 1, 3 * rank + 2}, TableSharding::TableWise, {rank}));
  }
  planned_job.plan.push_back(planned({24, 25}, TableSharding::DataParallel));
  return planned_job.job();
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

TEST(TorchRecInputs, AreThoseOfAStepOnEightRanks) {
  if (!std::filesystem::exists(kOneStep)) {
    GTEST_SKIP() << "no " << kOneStep;
  }
  const json trace = json::parse(gzip_text(kOneStep));
  double from = 0;
  const auto received = launched_within(trace, "## wait_sparse_data_dist ##", from);
  const auto sent = launched_within(trace, "## sparse_data_dist ##", from);
  ASSERT_EQ(received.size(), 10U);
  ASSERT_EQ(sent.size(), 16U);
  const Job job = ours();
  EXPECT_EQ(received, ours_within(job, "wait_sparse_data_dist", 0));
  EXPECT_EQ(sent, joined(ours_within(job, "start_sparse_data_dist", 0),
                         ours_within(job, "wait_sparse_data_dist", 1)));
}

TEST(TorchRecInputs, AreThoseOfAPipelinedStepInItsOrder) {
  if (!std::filesystem::exists(kPipeline)) {
    GTEST_SKIP() << "no " << kPipeline;
  }
  const json trace = json::parse(gzip_text(kPipeline));
  double from = 0;
  const Job job = ours();
  EXPECT_EQ(launched_within(trace, "## start_sparse_data_dist ##", from),
            ours_within(job, "start_sparse_data_dist", 0));
  EXPECT_EQ(launched_within(trace, "## wait_sparse_data_dist ##", from),
            ours_within(job, "wait_sparse_data_dist", 0));
  EXPECT_EQ(launched_within(trace, "## wait_sparse_data_dist ##", from),
            ours_within(job, "wait_sparse_data_dist", 1));
}

}  // namespace
}  // namespace lockstep
