#include "generate/benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <sstream>

#include "generate/coverage.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/program_files.hpp"
#include "generate/selection.hpp"
#include "ops/program_builder.hpp"

namespace lockstep::generate {
namespace {

/// Two ranks that multiply, attend to tokens and add up gradients; the names are nobody else's.
Benchmark small_benchmark() {
  HostOverheads host;
  for (const RuntimeCall call :
       {RuntimeCall::LaunchKernel, RuntimeCall::LaunchCollective, RuntimeCall::EventRecord,
        RuntimeCall::StreamWaitEvent, RuntimeCall::Synchronize}) {
    host.runtime_calls[call] = Seconds{4e-6};
  }
  ProgramBuilder rank{host};
  const auto compute = rank.stream("compute_lane");
  const auto communication = rank.stream("talk_lane");
  rank.begin_range("first_half");
  rank.host_work("reading", Seconds{1e-4});
  rank.launch(compute, {"my_gemm", DataType::BF16, Gemm{1, 64, 64, 64}});
  rank.end_range();
  rank.begin_range("second_half");
  rank.launch(compute, {"my_attention", DataType::FP32, FlashAttention{1, 2, 64, 64, 20}});
  const auto done = rank.event();
  rank.record(compute, done);
  rank.stream_wait(communication, done);
  CollectiveCall call;
  call.size = Bytes{8192};
  call.group = rank.group("everybody");
  rank.collective(communication, call);
  rank.wait_device();
  rank.end_range();
  Job job;
  job.programs.push_back(std::make_shared<const Program>(std::move(rank).build()));
  job.groups.push_back({"everybody", {0, 1}});
  job.ranks.resize(2);
  for (RankAssignment& assignment : job.ranks) {
    assignment.groups = {0};
  }
  Benchmark made{job, {}, {}};
  std::vector<BenchmarkKernel> kernels;
  for (const KernelCall& kernel : job.programs.front()->kernels) {
    kernels.push_back({.name = kernel.name,
                       .family = kernel.name == "my_gemm" ? "gemm" : "attention",
                       .calls = {kernel},
                       .backend = backend_for(kernel, Target::Cuda),
                       .seconds = kernel.name == "my_gemm" ? 3e-5 : 1e-5});
  }
  made.kernels.push_back(std::move(kernels));
  return made;
}

TEST(OperationTable, ComesBackAsTheSameJob) {
  const Benchmark benchmark = small_benchmark();
  const std::string text = to_text(table_of(benchmark, {}));
  std::istringstream stream{text};
  const benchmark::Table table = benchmark::read_table(stream);
  EXPECT_EQ(to_text(table), text);
  const Job job = job_of(table);
  ASSERT_EQ(job.programs.size(), 1U);
  const Program &read = *job.programs.front(), &written = *benchmark.job.programs.front();
  EXPECT_EQ(read.kernels, written.kernels);
  EXPECT_EQ(read.collectives, written.collectives);
  EXPECT_EQ(read.streams, written.streams);
  ASSERT_EQ(read.threads.size(), written.threads.size());
  ASSERT_EQ(read.threads[0].instructions.size(), written.threads[0].instructions.size());
  for (std::size_t i = 0; i < read.threads[0].instructions.size(); ++i) {
    const Instruction &a = read.threads[0].instructions[i], &b = written.threads[0].instructions[i];
    EXPECT_EQ(std::tie(a.op, a.stream, a.per_rank, a.operand, a.lead, a.cost),
              std::tie(b.op, b.stream, b.per_rank, b.operand, b.lead, b.cost));
  }
}

TEST(OperationTable, SaysWhichLineIsWrong) {
  const auto line_of = [](const std::string& text) {
    std::istringstream stream{text};
    try {
      (void)benchmark::read_table(stream);
    } catch (const benchmark::TableError& problem) {
      return problem.line;
    }
    return 0;
  };
  EXPECT_EQ(line_of(""), 1);
  EXPECT_EQ(line_of("something else\n"), 1);
  EXPECT_EQ(line_of("lockstep-benchmark 1\n"), 1);
  EXPECT_EQ(line_of("lockstep-benchmark 2\n\nlaunch 0 0 0 0\n"), 3);
  EXPECT_EQ(line_of("lockstep-benchmark 2\nprogram\nthread main\nlunch 0 0 0 0\n"), 4);
  EXPECT_EQ(line_of("lockstep-benchmark 2\nprogram\nthread main\nlaunch 0 0 0\n"), 4);
  EXPECT_EQ(line_of("lockstep-benchmark 2\nprogram\nthread main\nlaunch 300 0 0 0\n"), 4);
  // A launch of kernel 5, of which there is none, is found when the rank that runs it is known.
  EXPECT_NE(
      line_of(
          "lockstep-benchmark 2\nprogram\nstream s\nevents 0 -\nthread main\nlaunch 0 5 0 0\nrank 0 - - -\n"),
      0);
}

TEST(Coverage, AddsUpToAHundredPercent) {
  // Two ranks: 2 x 30 us of products by the library, 2 x 10 us of attention by a busy kernel, since 20
  // columns are no multiple of a tile's 16.
  const Coverage coverage = coverage_of(small_benchmark());
  EXPECT_DOUBLE_EQ(coverage.all.seconds, 8e-5);
  EXPECT_DOUBLE_EQ(coverage.reproduced(), 0.75);
  ASSERT_EQ(coverage.uncovered.size(), 1U);
  EXPECT_EQ(coverage.uncovered.front().name, "my_attention");
  for (const std::vector<double>& parts : {std::vector<double>{1, 1, 1}, {0.1, 99.85, 0.05}, {3, 0, 7, 11}}) {
    const std::vector<double> shares = percentages(parts);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 100.0, 1e-9);
  }
  EXPECT_THAT(percentages({0, 0}), ::testing::Each(0.0));
}

TEST(Backends, AttentionIsComputedInEveryTypeOfTensorCores) {
  for (const DataType type : {DataType::FP32, DataType::FP16, DataType::BF16}) {
    EXPECT_EQ(backend_for({"attention", type, FlashAttention{1, 2, 64, 64, 32}}, Target::Cuda), Backend::Own);
    EXPECT_EQ(backend_for({"attention", type, FlashAttention{1, 2, 64, 64, 20}}, Target::Cuda),
              Backend::Busy);
  }
}

TEST(Selection, KeepsHostTimeOfWhatIsLeftOut) {
  Benchmark part = small_benchmark();
  const Totals whole = totals_of(table_of(part, {}));
  select(part, {.families = {"gemm"}});
  const benchmark::Table table = table_of(part, {});
  EXPECT_EQ(totals_of(table).launches, 2U);
  EXPECT_EQ(totals_of(table).collectives, 0U);
  EXPECT_EQ(whole.launches, 4U);
  const auto host_time = [](const Benchmark& benchmark) {
    double sum = 0;
    for (const Instruction& i : benchmark.job.programs.front()->threads.front().instructions) {
      sum += static_cast<double>(i.lead) + static_cast<double>(i.cost);
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(host_time(part), host_time(small_benchmark()));
  Benchmark no_host = small_benchmark();
  select(no_host, {.host = false});
  EXPECT_EQ(host_time(no_host), 0);
}

TEST(Selection, TakesARangeAlone) {
  Benchmark part = small_benchmark();
  select(part, {.range = "first"});
  const benchmark::Table table = table_of(part, {});
  EXPECT_EQ(totals_of(table).launches, 2U);
  EXPECT_EQ(totals_of(table).collectives, 0U);
  Benchmark nothing = small_benchmark();
  EXPECT_THROW(select(nothing, {.range = "third"}), std::invalid_argument);
}

TEST(Selection, FillsOrRefuses) {
  Benchmark skipped = small_benchmark();
  fill(skipped, Fill::Skip);
  EXPECT_EQ(coverage_of(skipped).by_backend[static_cast<std::size_t>(Backend::Skipped)].launches, 2U);
  EXPECT_DOUBLE_EQ(totals_of(table_of(skipped, {})).kernel_seconds, 6e-5);
  Benchmark refused = small_benchmark();
  EXPECT_THROW(fill(refused, Fill::Error), std::invalid_argument);
}

TEST(Obfuscation, LeavesNoNameOfTheSource) {
  Benchmark hidden = small_benchmark();
  obfuscate(hidden);
  std::string all;
  for (const ProgramFile& file : program_files(table_of(hidden, {}), Target::Cuda)) {
    all += file.content;
  }
  all += manifest_json(table_of(hidden, {}), coverage_of(hidden), {});
  for (const char* name : {"my_gemm", "my_attention", "compute_lane", "talk_lane", "first_half",
                           "second_half", "everybody", "reading"}) {
    EXPECT_THAT(all, ::testing::Not(::testing::HasSubstr(name)));
  }
  EXPECT_EQ(totals_of(table_of(hidden, {})).kernel_flops,
            totals_of(table_of(small_benchmark(), {})).kernel_flops);
}

TEST(ProgramFiles, AreTheSameBytesForASeed) {
  const auto contents = [](std::uint32_t seed) {
    std::map<std::string, std::string> made;
    for (const ProgramFile& file : program_files(table_of(small_benchmark(), {.seed = seed}), Target::Cuda)) {
      made[file.name] = file.content;
      EXPECT_TRUE(is_of_program(file.name)) << file.name;
    }
    return made;
  };
  EXPECT_EQ(contents(1), contents(1));
  auto one = contents(1), other = contents(2);
  EXPECT_NE(one.at(kOperationTable), other.at(kOperationTable));
  one.erase(kOperationTable);
  other.erase(kOperationTable);
  EXPECT_EQ(one, other);
  EXPECT_TRUE(one.contains("products.cu"));
  EXPECT_FALSE(one.contains("convolutions.cu"));  // nothing is convolved
}

}  // namespace
}  // namespace lockstep::generate
