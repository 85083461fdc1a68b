#include "ops/kernels/learned.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

#include "base/yaml_reader.hpp"
#include "ops/kernels/network.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

GpuSpec gpu_without_networks(const std::string& name = "p100_16gb_pcie") {
  auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
  gpu.learned = std::nullopt;
  return gpu;
}

LearnedLayer layer(int inputs, int outputs, const std::string& numbers) {
  LearnedLayer made;
  made.inputs = inputs;
  made.outputs = outputs;
  made.numbers = numbers;
  made.check();
  return made;
}

KernelCall softmax(std::int64_t rows, std::int64_t columns) {
  return {"softmax", DataType::FP32, Softmax{rows, columns}};
}

/// exp(0.5) times the bound for any softmax of 1 Ki to 64 Ki rows and 256 to 4 Ki columns.
LearnedKernels half_as_long_again(const std::string& gpu, const GpuSpec& spec) {
  const auto least = kernel_features(softmax(1 << 10, 256), spec)->call;
  const auto most = kernel_features(softmax(1 << 16, 4096), spec)->call;
  LearnedKernel network;
  network.family = LearnedFamily::Softmax;
  network.type = "fp32";
  network.band = 0.05;
  const auto& names = call_feature_names(LearnedFamily::Softmax);
  for (std::size_t f = 0; f < names.size(); ++f) network.features.push_back({names[f], least[f], most[f]});
  network.head = {layer(5, 1, "0 0 0 0 0 0.5")};
  LearnedKernels learned;
  learned.gpus = {gpu};
  learned.kernels = {network};
  return learned;
}

Prediction predicted(const KernelCall& call, const GpuSpec& gpu) {
  return model_for(call).predict(call, gpu);
}

// One feature in -1 to 1 after scaling (x' = 0.5), two tables (t' = -1 and 1):
// trunk tanh(2 t' + 0.5): sum = tanh(-1.5) + tanh(2.5); head: 3 x' - 1 sum + 0.25.
TEST(Network, sum_of_the_trunk_over_elements) {
  LearnedKernel network;
  network.features = {{"log_batch", 0, 8}};
  network.elements = {{"log_rows", 10, 20}};
  network.trunk = {layer(1, 1, "2 0.5")};
  network.head = {layer(2, 1, "3 -1 0.25")};
  const std::vector<std::vector<double>> tables{{10}, {20}};
  EXPECT_DOUBLE_EQ(evaluate(network, std::vector<double>{6}, tables),
                   3 * 0.5 - (std::tanh(-1.5) + std::tanh(2.5)) + 0.25);
}

TEST(Network, a_feature_that_never_varied_counts_as_0) {
  EXPECT_EQ(scaled({"reads", 2, 2}, 2), 0);
}

TEST(Learned, answers_inside_its_training) {
  GpuSpec gpu = gpu_without_networks();
  const KernelCall call = softmax(1 << 13, 1024);
  const Seconds bound = kernel_features(call, gpu)->bound;
  gpu.learned.emplace();
  gpu.learned->value = half_as_long_again(gpu.name, gpu);
  const Prediction prediction = predicted(call, gpu);
  EXPECT_NEAR(prediction.duration / bound, std::exp(0.5), 1e-12);
  EXPECT_EQ(prediction.band, 0.05);
  EXPECT_EQ(prediction.provenance, Provenance::Fitted);
  EXPECT_FALSE(prediction.fell_back);
}

// exp(-3) of the bound: no kernel beats the peak, or moves more than what level 2 holds past DRAM.
TEST(Learned, is_never_above_the_peak) {
  GpuSpec gpu = gpu_without_networks();
  const KernelCall wide = softmax(1 << 14, 2048), narrow = softmax(1 << 10, 512);
  gpu.learned.emplace();
  gpu.learned->value = half_as_long_again(gpu.name, gpu);
  gpu.learned->value.kernels.front().head = {layer(5, 1, "0 0 0 0 0 -3")};
  const Bytes moved{2.0 * 4 * (1 << 14) * 2048};
  EXPECT_NEAR(predicted(wide, gpu).duration / ((moved - gpu.l2_size) / gpu.memory_bandwidth), 1, 1e-9);
  EXPECT_EQ(predicted(narrow, gpu).duration, gpu.kernel_minimum);  // 4 MiB, as level 2
}

TEST(Learned, products_have_a_least_time) {
  const GpuSpec gpu = gpu_without_networks();
  const KernelCall product{"gemm", DataType::FP32, Gemm{1, 4096, 4096, 4096}};
  EXPECT_NEAR(kernel_features(product, gpu)->least / (Flops{2.0 * 4096 * 4096 * 4096} / gpu.peak.fp32), 1,
              1e-12);
}

// 100 columns were never seen: the formula, with 1.5 times its band, and the prediction says so.
TEST(Learned, beyond_its_training_the_formula_answers_with_a_wider_band) {
  GpuSpec gpu = gpu_without_networks();
  const KernelCall call = softmax(1 << 13, 100);
  const Prediction formula = predicted(call, gpu);
  gpu.learned.emplace();
  gpu.learned->value = half_as_long_again(gpu.name, gpu);
  const Prediction prediction = predicted(call, gpu);
  EXPECT_EQ(prediction.duration, formula.duration);
  EXPECT_EQ(prediction.band, 1.5 * formula.band);
  EXPECT_TRUE(prediction.fell_back);
}

TEST(Learned, other_types_and_directions_are_the_formulas) {
  GpuSpec gpu = gpu_without_networks();
  KernelCall backward = softmax(1 << 13, 1024);
  std::get<Softmax>(backward.work).direction = Direction::Backward;
  KernelCall half = softmax(1 << 13, 1024);
  half.type = DataType::FP16;
  const Prediction formula_backward = predicted(backward, gpu), formula_half = predicted(half, gpu);
  gpu.learned.emplace();
  gpu.learned->value = half_as_long_again(gpu.name, gpu);
  EXPECT_EQ(predicted(backward, gpu).duration, formula_backward.duration);
  EXPECT_EQ(predicted(half, gpu).duration, formula_half.duration);
  EXPECT_FALSE(predicted(half, gpu).fell_back);
}

TEST(Learned, a_network_of_other_features_is_refused) {
  GpuSpec gpu = gpu_without_networks();
  gpu.learned.emplace();
  gpu.learned->value = half_as_long_again(gpu.name, gpu);
  gpu.learned->value.kernels.front().features.front().name = "log_lines";
  try {
    (void)predicted(softmax(1 << 13, 1024), gpu);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("fit it again"));
  }
}

TEST(LearnedLayer, counts_its_numbers) {
  EXPECT_THROW((void)layer(2, 1, "1 2"), std::invalid_argument);
  EXPECT_THROW((void)layer(2, 1, "1 2 x"), std::invalid_argument);
  EXPECT_THROW((void)layer(2, 1, "1 2 inf"), std::invalid_argument);
}

TEST(LearnedKernel, layers_must_fit_each_other) {
  LearnedKernel network = half_as_long_again("any", gpu_without_networks()).kernels.front();
  EXPECT_NO_THROW(network.check());
  network.head = {layer(4, 1, "0 0 0 0 0")};
  EXPECT_THROW(network.check(), std::invalid_argument);
  network.head = {layer(5, 2, "0 0 0 0 0 0 0 0 0 0 0 0")};
  EXPECT_THROW(network.check(), std::invalid_argument);
  network.layout = "nn";
  EXPECT_THROW(network.check(), std::invalid_argument);
}

TEST(LearnedKernels, a_scale_is_of_a_gpu_that_was_measured) {
  LearnedKernels learned = half_as_long_again("any", gpu_without_networks());
  learned.scale["any"] = {};
  EXPECT_NO_THROW(learned.check());
  learned.scale["other"] = {};
  EXPECT_THROW(learned.check(), std::invalid_argument);
}

// Shipped networks can be read, belong to their GPU, and have the features of this version.
TEST(LearnedKernels, shipped_networks_answer) {
  for (const char* name : {"p100_16gb_pcie", "v100_32gb_pcie", "a100_40gb_pcie"}) {
    const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + std::string{name} + ".yaml");
    ASSERT_TRUE(gpu.learned && (*gpu.learned)->measured_on(gpu.name)) << name;
    EXPECT_TRUE((*gpu.learned)->scale.contains(gpu.name)) << name;
    const KernelCall call{"bmm", DataType::FP32, Gemm{64, 1024, 1024, 512}};
    const Seconds bound = kernel_features(call, gpu)->bound;
    const Prediction prediction = predicted(call, gpu);
    EXPECT_FALSE(prediction.fell_back) << name;
    EXPECT_GT(prediction.duration, bound * 0.9) << name;
    EXPECT_LT(prediction.duration, bound * 2) << name;
  }
}

}  // namespace
}  // namespace lockstep
