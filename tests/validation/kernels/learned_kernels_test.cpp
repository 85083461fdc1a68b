// The shipped networks against the formulas of today, on rows that no network learned from: NeuSight's test
// part (layers of transformers, FP32). Where a formula has become better than its network,
// tools/derive/learned_kernels.sh makes the networks again, and leaves that one out.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/yaml_reader.hpp"
#include "measured_csv.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep::validation {
namespace {

struct Means {
  double network = 0, formula = 0;
  int rows = 0;
};

/// Mean absolute errors by operator, of the rows that a network answers.
std::map<std::string, Means> errors_on(const std::string& gpu_name, const std::string& device) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu_name + ".yaml");
  GpuSpec plain = gpu;
  plain.learned = std::nullopt;
  std::map<std::string, Means> means;
  for (const std::string operation : {"linear", "bmm"}) {
    for (CsvRow& row : read_csv(measurements() / "kernels/neusight/dataset/test" / (operation + ".csv.gz"))) {
      const double measured = std::stod(row["Latency"]) * 1e-3;
      if (row["Device"] != device || measured < 0.5e-3) continue;
      const auto size = [&](const char* key) { return static_cast<std::int64_t>(std::stod(row[key])); };
      const KernelCall call{operation, DataType::FP32,
                            Gemm{size("B"), size("M"), size("K"), size("N"), false, operation == "linear"}};
      const Prediction with = model_for(call).predict(call, gpu);
      const Prediction without = model_for(call).predict(call, plain);
      if (with.duration == without.duration) continue;
      Means& of = means[operation];
      of.network += std::abs(with.duration / Seconds{measured} - 1);
      of.formula += std::abs(without.duration / Seconds{measured} - 1);
      ++of.rows;
    }
  }
  return means;
}

TEST(LearnedKernels, are_better_than_the_formulas_of_today) {
  if (!std::filesystem::exists(measurements())) GTEST_SKIP() << "no measurements at " << measurements();
  const std::map<std::string, std::string> devices{{"p100_16gb_pcie", "Tesla P100-PCIE-16GB"},
                                                   {"v100_32gb_pcie", "Tesla V100-PCIE-32GB"},
                                                   {"a100_40gb_pcie", "NVIDIA A100-PCIE-40GB"}};
  for (const auto& [gpu, device] : devices) {
    for (const auto& [operation, of] : errors_on(gpu, device)) {
      fmt::print("{:<8} {:<16} {:>5} rows  network {:5.1f} %  formula {:5.1f} %\n", operation, gpu, of.rows,
                 100 * of.network / of.rows, 100 * of.formula / of.rows);
      EXPECT_LT(of.network, of.formula) << operation << " on " << gpu << ": see the head of this file";
    }
  }
}

}  // namespace
}  // namespace lockstep::validation
