// Predicted against measured: NeuSight's operators (FP32). Its latencies contain 15 to 60 us of the host, so
// only rows well above are used.

#include <gtest/gtest.h>

#include "error_table.hpp"
#include "measured_csv.hpp"

namespace lockstep::validation {
namespace {

struct Case {
  const char* operation;
  const char* table;  // of the test part
  const char* device;
  const char* gpu;
  double bound;  // on the mean absolute relative error
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.operation << " on " << of.gpu;
}

constexpr double kShortestMs = 0.5;
constexpr double kShortestConvolutionMs = 2;  // several kernels and cuDNN's choice: 0.1 to 0.2 ms of the host

std::int64_t whole(const CsvRow& row, const char* key) {
  return static_cast<std::int64_t>(std::stod(row.at(key)));
}

KernelWork work_of(const CsvRow& row) {
  const std::string& operation = row.at("OPName");
  if (operation == "linear" ||
      operation == "bmm") {  // NeuSight's N is the depth, its K the columns of the result
    const bool by_weight = operation == "linear";  // [outputs, inputs]: its rows run along the depth
    return Gemm{whole(row, "B"), whole(row, "M"), whole(row, "K"), whole(row, "N"), false, by_weight};
  }
  if (operation == "conv") {
    return Convolution{.batch = whole(row, "B"),
                       .in_channels = whole(row, "Input_Channel"),
                       .out_channels = whole(row, "Output_Channel"),
                       .height = whole(row, "Input_Size"),
                       .width = whole(row, "Input_Size"),
                       .filter_height = whole(row, "Kernel_Szie"),
                       .filter_width = whole(row, "Kernel_Szie"),
                       .stride = whole(row, "Stride"),
                       .padding_height = whole(row, "Padding"),
                       .padding_width = whole(row, "Padding"),
                       .channels_first = true};
  }
  const std::int64_t rows = whole(row, "B"), columns = whole(row, "H");
  if (operation == "softmax") return Softmax{rows, columns};
  if (operation == "ln") return LayerNorm{rows, columns};
  const bool binary = operation == "add" || operation == "mul" || operation == "div";
  return Pointwise{rows * columns, binary ? 2.0 : 1.0, 1.0, operation == "gelu" ? 20.0 : 1.0};
}

class NeuSight : public ::testing::TestWithParam<Case> {};

TEST_P(NeuSight, mean_error_is_bounded) {
  const Case& of = GetParam();
  if (!std::filesystem::exists(measurements())) GTEST_SKIP() << "no measurements at " << measurements();
  ErrorTable errors{of.operation, of.gpu};
  for (const CsvRow& row : read_neusight(of.operation, of.table, of.device)) {
    const double latency = std::stod(row.at("Latency"));
    if (latency < (of.operation == std::string{"conv"} ? kShortestConvolutionMs : kShortestMs)) continue;
    errors.add({of.operation, DataType::FP32, work_of(row)}, Seconds{latency * 1e-3});
  }
  ASSERT_GT(errors.count(), 20);
  errors.print();
  EXPECT_LT(errors.mean(), of.bound);
}

constexpr const char* kV100 = "Tesla V100-PCIE-32GB";
constexpr const char* kP100 = "Tesla P100-PCIE-16GB";
constexpr const char* kA100 = "NVIDIA A100-PCIE-40GB";
constexpr const char* kA100Large = "NVIDIA A100 80GB PCIe";
constexpr const char* kT4 = "Tesla T4";
constexpr const char* kP4 = "Tesla P4";
constexpr const char* kH100 = "NVIDIA H100 80GB HBM3";

// P4's linear layers are not here: the test part has other kernels than the train part (docs/models.md).
// Bounds are the errors seen when the constants were fitted, rounded up by about a third.
INSTANTIATE_TEST_SUITE_P(
    measured, NeuSight,
    ::testing::Values(
        Case{"linear", "linear", kV100, "v100_32gb_pcie", 0.15},
        Case{"linear", "linear", kP100, "p100_16gb_pcie", 0.13},
        Case{"linear", "linear", kA100, "a100_40gb_pcie", 0.15},
        Case{"linear", "linear", kA100Large, "a100_80gb_pcie", 0.15},
        Case{"linear", "linear", kH100, "h100_80gb", 0.15}, Case{"linear", "linear", kT4, "t4_16gb", 0.20},
        Case{"bmm", "bmm", kV100, "v100_32gb_pcie", 0.20}, Case{"bmm", "bmm", kP100, "p100_16gb_pcie", 0.15},
        Case{"bmm", "bmm", kA100, "a100_40gb_pcie", 0.15},
        Case{"bmm", "bmm", kA100Large, "a100_80gb_pcie", 0.15}, Case{"bmm", "bmm", kH100, "h100_80gb", 0.15},
        Case{"bmm", "bmm", kT4, "t4_16gb", 0.25}, Case{"bmm", "bmm", kP4, "p4_8gb", 0.15},
        Case{"conv", "conv", kV100, "v100_32gb_pcie", 0.25},
        Case{"conv", "conv", kP100, "p100_16gb_pcie", 0.30},
        Case{"conv", "conv", kA100Large, "a100_80gb_pcie", 0.25}, Case{"conv", "conv", kT4, "t4_16gb", 0.20},
        Case{"conv", "conv", kP4, "p4_8gb", 0.25}, Case{"add", "elem", kV100, "v100_32gb_pcie", 0.10},
        Case{"add", "elem", kP100, "p100_16gb_pcie", 0.10},
        Case{"add", "elem", kA100, "a100_40gb_pcie", 0.10},
        Case{"add", "elem", kA100Large, "a100_80gb_pcie", 0.10}, Case{"add", "elem", kT4, "t4_16gb", 0.10},
        Case{"add", "elem", kP4, "p4_8gb", 0.10}, Case{"relu", "elem", kV100, "v100_32gb_pcie", 0.10},
        Case{"gelu", "elem", kP100, "p100_16gb_pcie", 0.10},
        Case{"gelu", "elem", kA100, "a100_40gb_pcie", 0.10},
        Case{"tanh", "elem", kA100Large, "a100_80gb_pcie", 0.10},
        Case{"softmax", "softmax", kV100, "v100_32gb_pcie", 0.20},
        Case{"softmax", "softmax", kP100, "p100_16gb_pcie", 0.20},
        Case{"softmax", "softmax", kA100, "a100_40gb_pcie", 0.20},
        Case{"softmax", "softmax", kT4, "t4_16gb", 0.30}, Case{"softmax", "softmax", kP4, "p4_8gb", 0.20},
        Case{"ln", "ln", kV100, "v100_32gb_pcie", 0.20}, Case{"ln", "ln", kP100, "p100_16gb_pcie", 0.20},
        Case{"ln", "ln", kA100, "a100_40gb_pcie", 0.25}, Case{"ln", "ln", kT4, "t4_16gb", 0.15},
        Case{"ln", "ln", kP4, "p4_8gb", 0.20}));

}  // namespace
}  // namespace lockstep::validation
