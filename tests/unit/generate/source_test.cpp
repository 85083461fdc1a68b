#include "generate/source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generate/coverage.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/repetition.hpp"
#include "generate/scale_down.hpp"

namespace lockstep::generate {
namespace {

namespace fs = std::filesystem;

/// A folder of this process, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_{fs::temp_directory_path() / ("lockstep-generate-" + std::to_string(::getpid()))} {
    fs::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The mean step of a benchmark as it is read back from a folder, s.
double step_of_program(const Benchmark& benchmark, const ProgramFile& machine) {
  const TemporaryFolder folder;
  std::ofstream{folder.path() / machine.name} << machine.content;
  std::ofstream{folder.path() / kOperationTable} << to_text(table_of(benchmark, {}));
  const PlacedJob placed =
      place(job_of(read_operation_table(folder.path() / kOperationTable)), folder.path());
  return placed.machine->simulate(placed.job).mean_step().in_base_units();
}

void expect_same_step(const std::vector<std::string>& sources, const std::vector<Override>& overrides = {}) {
  const Source source = open_source({sources, overrides, Target::Cuda});
  const double step = source.machine->simulate(source.benchmark.job).mean_step().in_base_units();
  EXPECT_NEAR(step_of_program(source.benchmark, source.machine_file) / step, 1, 1e-3) << sources.front();
}

/// Two ranks in place of all.
void expect_step_of_two(const std::string& scenario, double tolerance) {
  Source source = open_source({{scenario}, {}, Target::Cuda});
  const double step = source.machine->simulate(source.benchmark.job).mean_step().in_base_units();
  (void)scale_down(source.benchmark, *source.machine, 2);
  ASSERT_EQ(source.benchmark.job.ranks.size(), 2U);
  check(source.benchmark.job);
  EXPECT_NEAR(step_of_program(source.benchmark, source.machine_file) / step, 1, tolerance) << scenario;
}

TEST(Source, ProgramsOfScenariosTakeAsLong) {
  for (const char* scenario : {"gpt2_8xa100", "llama3_8b_fsdp", "dlrm_nvswitch", "resnet50_8xv100"}) {
    expect_same_step({scenario});
  }
}

TEST(Source, TwoRanksTakeAsLongAsAll) {
  expect_step_of_two("gpt2_8xa100", 0.001);
  expect_step_of_two("llama3_8b_fsdp", 0.001);
  expect_step_of_two("dlrm_nvswitch", 0.001);    // ranks share the links that bring their samples
  expect_step_of_two("mixtral_experts", 0.001);  // messages between nodes, of two ranks on one
}

TEST(Source, ARangeIsRepeated) {
  Source source = open_source({{"gpt2_8xa100"}, {}, Target::Cuda});
  const Totals once = totals_of(table_of(source.benchmark, {}));
  const std::string range = source.benchmark.job.programs.front()->names.back();
  repeat(source.benchmark, range, 3);
  check(source.benchmark.job);
  const Totals thrice = totals_of(table_of(source.benchmark, {}));
  EXPECT_GT(thrice.launches, once.launches) << range;
  EXPECT_GT(source.machine->simulate(source.benchmark.job).mean_step().in_base_units(), 0);
  EXPECT_THROW(repeat(source.benchmark, "no such range", 3), std::invalid_argument);
}

TEST(Source, ScenariosChangePrecisionAndBatch) {
  const auto totals = [](SourceOptions options) {
    return totals_of(table_of(open_source(options).benchmark, {}));
  };
  const Totals whole = totals({{"gpt2_8xa100"}, {}, Target::Cuda});
  const Totals half = totals({{"gpt2_8xa100"}, {}, Target::Cuda, "", 0.5});
  EXPECT_LT(half.kernel_flops, 0.6 * whole.kernel_flops);
  const Totals single = totals({{"gpt2_8xa100"}, {}, Target::Cuda, "fp32", 1});
  EXPECT_NE(single.kernel_bytes, whole.kernel_bytes);  // autocast copies, FP32 does not
  EXPECT_THROW((void)open_source({{"gpt2_8xa100"}, {}, Target::Cuda, "", 1e-9}), std::invalid_argument);
}

TEST(Source, ScenariosAreSeldomFilled) {
  EXPECT_GT(coverage_of(open_source({{"gpt2_8xa100"}, {}, Target::Cuda}).benchmark).reproduced(), 0.99);
  EXPECT_EQ(coverage_of(open_source({{"dlrm_nvswitch"}, {}, Target::Cuda}).benchmark).reproduced(), 1);
  EXPECT_EQ(coverage_of(open_source({{"llama3_8b_fsdp"}, {}, Target::PyTorch}).benchmark).reproduced(), 1);
}

class RecordedSource : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(traces())) {
      GTEST_SKIP() << "needs the captured traces in ../shared/data/traces";
    }
  }
  static fs::path traces() { return LOCKSTEP_SOURCE_DIR "/../shared/data/traces"; }
  static std::vector<Override> execution_traces(const fs::path& folder, const std::string& part) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{folder}) {
      if (entry.path().filename().string().find(part) != std::string::npos) {
        names.push_back(entry.path().string());
      }
    }
    std::ranges::sort(names);
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    return {{"execution_traces", "[" + list + "]"}};
  }
};

TEST_F(RecordedSource, ProgramsOfTracesTakeAsLong) {
  for (const char* folder : {"dlrm_8xv100/kineto", "torchrec_resnet18_2xv100", "torchrec_pipeline_4xv100"}) {
    expect_same_step({(traces() / folder).string()});
  }
  expect_same_step({(traces() / "vgg13_h100/profiler_vgg13-iter41.json.gz").string()});
}

TEST_F(RecordedSource, StoragesHaveTheirPlaces) {
  const Source source = open_source({{(traces() / "dlrm_8xv100/kineto").string()},
                                     execution_traces(traces() / "dlrm_8xv100/pytorch_et", "dlrm"),
                                     Target::Cuda});
  ASSERT_EQ(source.benchmark.memory.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    const MemoryPlan& plan = source.benchmark.memory[i];
    EXPECT_GT(plan.storages, 20U);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.05 * static_cast<double>(plan.allocator));
    const auto has_places = [](const BenchmarkKernel& kernel) { return !kernel.reads.empty(); };
    EXPECT_GT(std::ranges::count_if(source.benchmark.kernels[i], has_places), 40);
  }
}

TEST_F(RecordedSource, KernelsAreReproducedByWhatTheyDo) {
  const auto share = [](const std::string& trace, const std::vector<Override>& overrides) {
    return coverage_of(open_source({{trace}, overrides, Target::Cuda}).benchmark).reproduced();
  };
  EXPECT_GT(share((traces() / "dlrm_8xv100/kineto").string(),
                  execution_traces(traces() / "dlrm_8xv100/pytorch_et", "dlrm")),
            0.95);
  EXPECT_GT(share((traces() / "vgg13_h100/profiler_vgg13-iter41.json.gz").string(),
                  execution_traces(traces() / "vgg13_h100", "graph")),
            0.95);
  EXPECT_GT(
      share((traces() / "resnet50_v100_loader_in_process/worker0.1623143089861.pt.trace.json.gz").string(),
            {}),
      0.95);
}

}  // namespace
}  // namespace lockstep::generate
