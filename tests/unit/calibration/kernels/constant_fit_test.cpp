#include "calibration/kernels/constant_fit.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const GpuSpec& v100(const std::string& /*name*/) {
  static const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  return gpu;
}

/// The constants as they are on another machine than the models'.
KernelEfficiency elsewhere() {
  KernelEfficiency reached = v100("").efficiency.value;
  reached.random_rows *= 0.8;
  reached.scattered_update *= 1.1;
  reached.memory *= 0.9;
  for (GemmTile& tile : reached.tensor.tiles) tile.efficiency *= 0.7;
  return reached;
}

KernelMeasurements measured_there(const std::vector<KernelCall>& calls) {
  GpuSpec other = v100("");
  other.learned.reset();
  other.efficiency.value = elsewhere();
  KernelMeasurements rows;
  for (const KernelCall& call : calls) {
    rows.push_back({"v100_32gb", call, model_for(call).predict(call, other).duration});
  }
  return rows;
}

std::vector<KernelCall> look_ups(std::size_t count) {
  const Random random{1, "look-ups"};
  std::vector<KernelCall> calls;
  for (std::size_t i = 0; i < count; ++i) {
    const EmbeddingTable table{.rows = 1'000'000 + static_cast<std::int64_t>(1e7 * random.uniform(3 * i)),
                               .dimension = 32 << (i % 4),
                               .pooling_factor = 1 + 60 * random.uniform(3 * i + 1)};
    calls.push_back({"", DataType::FP32,
                     EmbeddingBags{.batch = 8192,
                                   .tables = {table},
                                   .direction = i % 2 == 0 ? Direction::Forward : Direction::Backward}});
  }
  return calls;
}

std::vector<KernelCall> additions_and_products(std::size_t count) {
  std::vector<KernelCall> calls;
  for (std::size_t i = 1; i <= count; ++i) {
    const auto size = static_cast<std::int64_t>(512 * i);
    calls.push_back({"", DataType::FP32, Pointwise{.elements = size * 100'000, .reads = 2, .writes = 1}});
    calls.push_back({"", DataType::FP16, Gemm{.batch = 1, .m = size, .n = 2048 + size, .k = 4096}});
  }
  return calls;
}

double value_of(const ConstantFit& fit, const std::string& key) {
  for (const FittedConstant& constant : fit.constants) {
    if (constant.key == key) return constant.after;
  }
  return 0;
}

TEST(ConstantFit, FindsWhatAnotherMachineReaches) {
  const ConstantFit looked_up = fit_constants(measured_there(look_ups(60)), v100, 0.2);
  // Of the memory's rate, a tenth lower, look-ups alone say nothing: it is in their own fractions.
  EXPECT_NEAR(value_of(looked_up, "random_rows"), 0.9 * elsewhere().random_rows, 1e-3);
  EXPECT_NEAR(value_of(looked_up, "scattered_update"), 0.9 * elsewhere().scattered_update, 1e-3);
  EXPECT_LT(looked_up.error, 1e-3);
  const ConstantFit others = fit_constants(measured_there(additions_and_products(24)), v100, 0.2);
  EXPECT_NEAR(value_of(others, "memory"), elsewhere().memory, 1e-3);
  EXPECT_NEAR(value_of(others, "tensor.tiles"), 0.7, 1e-3);
}

TEST(ConstantFit, WritesASetThatReadsBack) {
  const ConstantFit fit = fit_constants(measured_there(additions_and_products(24)), v100, 0.2);
  const auto base = YamlDocument::from_file(LOCKSTEP_SOURCE_DIR "/configs/kernel_efficiency/v100.yaml");
  const auto read =
      read_document<KernelEfficiency>(with_constants(fit, base, "mine", "a table that isn't here"));
  EXPECT_EQ(read.name, "mine");
  EXPECT_NEAR(read.memory, elsewhere().memory, 1e-3);
  EXPECT_NEAR(read.tensor.tiles.front().efficiency, elsewhere().tensor.tiles.front().efficiency, 1e-3);
  EXPECT_EQ(read.softmax, v100("").efficiency->softmax);
  EXPECT_THAT(read.provenance.at("memory").source, HasSubstr("isn't here"));
}

TEST(ConstantFit, SaysWhatCannotBeFitted) {
  auto rows = measured_there(look_ups(60));
  rows.back().gpu = "a100_80gb";
  EXPECT_THAT([&] { (void)fit_constants(rows, v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("v100_32gb and a100_80gb")));
  EXPECT_THAT([&] { (void)fit_constants(measured_there(look_ups(4)), v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("too few")));
  rows = measured_there(look_ups(60));
  for (KernelMeasurement& row : rows) row.time = model_for(row.call).predict(row.call, v100("")).duration;
  EXPECT_THAT([&] { (void)fit_constants(rows, v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("nothing to write")));
}

}  // namespace
}  // namespace lockstep
