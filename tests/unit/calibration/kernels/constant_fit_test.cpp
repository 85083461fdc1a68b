#include "calibration/kernels/constant_fit.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/kernels/constant_split.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

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

std::vector<KernelCall> lookups(std::size_t count) {
  const Random random{1, "lookups"};
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
  const ConstantFit looked_up = fit_constants(measured_there(lookups(60)), v100, 0.2);
  // Lookups alone say nothing of the memory's rate, a tenth lower: it is in their own fractions.
  EXPECT_NEAR(value_of(looked_up, "random_rows"), 0.9 * elsewhere().random_rows, 1e-3);
  EXPECT_NEAR(value_of(looked_up, "scattered_update"), 0.9 * elsewhere().scattered_update, 1e-3);
  EXPECT_LT(looked_up.error, 1e-3);
  const ConstantFit others = fit_constants(measured_there(additions_and_products(24)), v100, 0.2);
  EXPECT_NEAR(value_of(others, "memory"), elsewhere().memory, 1e-3);
  EXPECT_NEAR(value_of(others, "tensor.tiles"), 0.7, 1e-3);
}

KernelMeasurements with_softmax(std::int64_t columns, double factor) {
  KernelMeasurements rows;
  for (std::int64_t i = 1; i <= 24; ++i) {
    const KernelCall call{"", DataType::FP32, Softmax{.rows = 100'000 * i, .columns = columns + 4 * i}};
    rows.push_back({"v100_32gb", call, factor * model_for(call).predict(call, v100("")).duration});
  }
  return rows;
}

// Softmax of short rows is as predicted but for noise that no constant explains: its constant stays, and the
// memory's is fitted all the same.
TEST(ConstantFit, KeepsWhatGetsNoBetter) {
  KernelMeasurements rows = measured_there(additions_and_products(24));
  KernelMeasurements noise = with_softmax(256, 1);
  for (std::size_t i = 0; i < noise.size(); ++i) {
    const bool is_held_out = place_of_shape(noise[i].call.work) < 0.2;
    noise[i].time = (is_held_out ? 0.8 : 1.1) * noise[i].time;
  }
  rows.insert(rows.end(), noise.begin(), noise.end());
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  EXPECT_EQ(value_of(fit, "softmax"), 0);
  EXPECT_NEAR(value_of(fit, "memory"), elsewhere().memory, 0.01);  // softmax moves by it, too
  ASSERT_EQ(fit.kept.size(), 1U);
  EXPECT_EQ(fit.kept.front().key, "softmax");
  EXPECT_THAT(constant_fit_text(fit), HasSubstr("stays as it is: fitted, the rows held out would be missed"));
  EXPECT_EQ(fit.efficiency.softmax, v100("").efficiency->softmax);
}

// `softmax` is not `block_softmax`: each has the error of its own rows.
TEST(ConstantFit, TellsConstantsOfLikeNamesApart) {
  KernelMeasurements rows = with_softmax(256, 1.25), longer = with_softmax(8192, 1.5);
  for (std::size_t i = 0; i < longer.size(); ++i) {
    longer[i].time = (i % 2 == 0 ? 0.7 : 1.3) * longer[i].time;  // scattered: a large error that stays
  }
  rows.insert(rows.end(), longer.begin(), longer.end());
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  EXPECT_LT(fit.error_of("softmax"), 0.01);
  EXPECT_GT(fit.error_of("block_softmax"), 0.1);
}

// A fraction that starts at 1, the most that there is, has a way down.
TEST(ConstantFit, LeavesTheMostThereIs) {
  GpuSpec most = v100("");
  most.efficiency.value.layer_norm = 1;
  KernelMeasurements rows;
  for (std::int64_t i = 1; i <= 24; ++i) {
    const KernelCall call{"", DataType::FP32, LayerNorm{.rows = 200'000 * i, .columns = 1024}};
    rows.push_back({"v100_32gb", call, 1.25 * model_for(call).predict(call, most).duration});
  }
  const auto gpu = [&](const std::string& /*name*/) -> const GpuSpec& { return most; };
  EXPECT_NEAR(value_of(fit_constants(rows, gpu, 0.2), "layer_norm"), 0.8, 0.01);
}

// Three rows of one kind beside many of others: they are left out, and it is told.
TEST(ConstantFit, LeavesOutKindsOfFewRows) {
  KernelMeasurements rows = measured_there(additions_and_products(24));
  const KernelMeasurements few = with_softmax(256, 1.2);
  rows.insert(rows.end(), few.begin(), few.begin() + 3);
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  EXPECT_NEAR(value_of(fit, "memory"), elsewhere().memory, 1e-3);
  ASSERT_EQ(fit.kept.size(), 1U);
  EXPECT_EQ(fit.kept.front().key, "softmax");
  EXPECT_THAT(fit.kept.front().why, HasSubstr("too few"));
  EXPECT_EQ(fit.residuals.size(), rows.size());
  EXPECT_EQ(std::ranges::count(fit.residuals, "not fitted", &KernelResidual::part), 3);
}

// Products far faster than the peak: the best tile reaches it, and the others stay in proportion.
TEST(ConstantFit, NoTileIsFasterThanThePeak) {
  KernelMeasurements rows = measured_there(additions_and_products(24));
  for (KernelMeasurement& row : rows) row.time = 0.4 * row.time;
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  const GemmProfile& before = v100("").efficiency->tensor;
  const GemmProfile& after = fit.efficiency.tensor;
  double best = 0;
  for (std::size_t i = 0; i < after.tiles.size(); ++i) {
    best = std::max(best, after.tiles[i].efficiency);
    EXPECT_NEAR(after.tiles[i].efficiency / before.tiles[i].efficiency,
                after.tiles[0].efficiency / before.tiles[0].efficiency, 1e-9);
  }
  EXPECT_NEAR(best, 1, 1e-9);
  EXPECT_NEAR(value_of(fit, "tensor.tiles"), after.tiles[0].efficiency / before.tiles[0].efficiency, 1e-9);
}

// Tiles that start as fast as the peak, as GeForce boards have them, have a way down, too.
TEST(ConstantFit, LeavesTilesAtThePeak) {
  GpuSpec most = v100("");
  most.efficiency.value.tensor.tiles = {{.rows = 128, .columns = 128, .warps = 4, .efficiency = 1}};
  KernelMeasurements rows;
  for (const KernelCall& call : additions_and_products(24)) {
    const Seconds time = model_for(call).predict(call, most).duration;
    rows.push_back({"v100_32gb", call, (std::holds_alternative<Gemm>(call.work) ? 1.25 : 1.0) * time});
  }
  const auto gpu = [&](const std::string& /*name*/) -> const GpuSpec& { return most; };
  EXPECT_NEAR(value_of(fit_constants(rows, gpu, 0.2), "tensor.tiles"), 0.8, 0.02);
}

// GEMMs in TF32 say nothing of those of 16 bits where TF32 has tiles of its own.
TEST(ConstantFit, TellsTf32FromSixteenBits) {
  static const auto gpu =
      read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/h100_80gb_cublas_13_boost.yaml");
  KernelMeasurements rows;
  for (std::int64_t i = 1; i <= 40; ++i) {
    const KernelCall call{"", DataType::TF32, Gemm{.batch = 1, .m = 1024 * i, .n = 2048, .k = 1024 + 64 * i}};
    rows.push_back({"h100", call, 1.25 * model_for(call).predict(call, gpu).duration});
  }
  const ConstantFit fit = fit_constants(
      rows, [](const std::string& /*name*/) -> const GpuSpec& { return gpu; }, 0.2);
  ASSERT_EQ(fit.constants.size(), 1U);
  EXPECT_EQ(fit.constants.front().key, "tf32.tiles");
  EXPECT_LT(fit.constants.front().after, 0.95);
}

// Copies by offsets, which wait for their instructions or for what strides waste: no word on the memory.
TEST(ConstantFit, TakesNoRateOfMemoryFromInstructions) {
  KernelMeasurements rows = measured_there(additions_and_products(24));
  const double truth = elsewhere().memory;
  for (std::int64_t size = 1; size <= 24; ++size) {
    KernelMeasurement copy = measured_there(
        {{"", DataType::FP32, Pointwise{.elements = size << 20, .flops = 0, .instructions = 67}}})[0];
    copy.time = 2.5 * copy.time;
    rows.push_back(copy);
  }
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  const auto memory = std::ranges::find(fit.constants, "memory", &FittedConstant::key);
  ASSERT_NE(memory, fit.constants.end());
  EXPECT_NEAR(memory->after / truth, 1, 1e-2);
  EXPECT_EQ(fit.unused, 24U);
  EXPECT_THAT(constant_fit_text(fit), HasSubstr("24 rows of other families, or of instructions=, were not"));
}

TEST(ConstantFit, TellsEveryRowBeforeAndAfter) {
  const KernelMeasurements rows = measured_there(additions_and_products(24));
  const ConstantFit fit = fit_constants(rows, v100, 0.2);
  ASSERT_EQ(fit.residuals.size(), rows.size());
  for (const KernelResidual& residual : fit.residuals) {
    EXPECT_NEAR(residual.after / residual.measured.time, 1, 1e-2);
  }
  const std::string text = kernel_residuals_csv(fit.residuals);
  EXPECT_EQ(std::ranges::count(text, '\n'), std::ssize(rows) + 1);
  EXPECT_THAT(text, HasSubstr("\"memory\",\"held out\","));
  const ResidualPlot plot = residuals_of("kernels", fit.residuals);
  EXPECT_EQ(plot.series.size(), 2U);
  EXPECT_THAT(to_svg(plot), HasSubstr("hollow: not learned from"));
}

// Times in nanoseconds by mistake, and a rate that no GPU has.
TEST(ConstantFit, DoubtsConstantsThatMoveTooFar) {
  KernelMeasurements rows = measured_there(additions_and_products(24));
  EXPECT_THAT(constant_doubts(fit_constants(rows, v100, 0.2)), IsEmpty());
  for (KernelMeasurement& row : rows) row.time = 3 * row.time;
  EXPECT_THAT(
      constant_doubts(fit_constants(rows, v100, 0.2)),
      UnorderedElementsAre(AllOf(HasSubstr("memory went from 0.920 to 0.2"), HasSubstr("factor of 3.3")),
                           AllOf(HasSubstr("tensor.tiles went from 1.000 to 0.2"),
                                 HasSubstr("differs by up to 2.5"), HasSubstr("microseconds"))));
}

// Rows held out get better with a lower rate by chance, those that it is fitted to only in the part that
// counts for the fit: nine of ten are as they were, strays are far off.
TEST(ConstantFit, TakesNothingThatFitsItsOwnRowsNoBetter) {
  KernelMeasurements rows;
  for (const KernelCall& call : additions_and_products(60)) {
    if (!std::holds_alternative<Gemm>(call.work)) continue;
    const bool is_held_out = place_of_shape(call.work) < 0.2;
    const double factor = is_held_out || rows.size() % 3 == 0 ? 1.5 : rows.size() % 3 == 1 ? 1.6 : 0.4;
    rows.push_back({"v100_32gb", call, factor * model_for(call).predict(call, v100("")).duration});
  }
  EXPECT_THAT([&] { (void)fit_constants(rows, v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("tensor.tiles: fitted, the rows that it is fitted to would be missed by")));
}

// Six numbers of tokens with one weight matrix: by matrix, all or nothing would be held out.
TEST(ConstantFit, SplitsASweepOverTokens) {
  std::vector<KernelCall> calls;
  for (std::int64_t m = 256; m <= 8192; m *= 2) {
    calls.push_back({"", DataType::FP16, Gemm{.batch = 1, .m = m, .n = 4096, .k = 4096}});
  }
  const ConstantFit fit = fit_constants(measured_there(calls), v100, 0.2);
  EXPECT_NEAR(value_of(fit, "tensor.tiles"), 0.7, 0.02);
  EXPECT_THAT(fit.split_with_m, ElementsAre("tensor.tiles"));
  EXPECT_THAT(constant_fit_text(fit), HasSubstr("tensor.tiles: of few weight matrices"));
  EXPECT_THAT(fit_constants(measured_there(additions_and_products(24)), v100, 0.2).split_with_m, IsEmpty());
}

TEST(ConstantSplit, LeavesNeitherPartEmpty) {
  for (std::int64_t n = 1; n <= 64; ++n) {
    KernelMeasurements rows;
    for (const std::int64_t m : {1, 2, 3, 4}) {
      rows.push_back({"g", {"", DataType::FP16, Gemm{.batch = 1, .m = m, .n = n, .k = 64}}, 1_us});
    }
    const SplitRows parts = split_by_shape(rows, 0.2);
    EXPECT_GE(parts.held_out.size(), 1U);
    EXPECT_GE(parts.fitted.size(), 1U);
    EXPECT_EQ(parts.fitted.size() + parts.held_out.size(), 4U);
    EXPECT_TRUE(split_by_shape({rows[0], rows[0]}, 0.2).held_out.size() % 2 == 0);  // of one shape
  }
}

// The start's evidence stays, for numbers that were not fitted, where that set is this GPU's own; else it is
// a relative's.
TEST(ConstantFit, SaysWhereEachNumberIsFrom) {
  const auto base = YamlDocument::from_file(LOCKSTEP_SOURCE_DIR "/configs/kernel_efficiency/v100.yaml");
  const auto written = [&](const std::string& gpu) {
    const auto spec = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml");
    const ConstantFit fit = fit_constants(
        measured_there(additions_and_products(24)),
        [&](const std::string& /*name*/) -> const GpuSpec& { return spec; }, 0.2);
    return read_document<KernelEfficiency>(with_constants(fit, base, "mine", "a table"));
  };
  const auto start = read_document<KernelEfficiency>(base).provenance;
  for (const std::string gpu : {"v100_32gb", "rtx_2080ti"}) {
    const bool is_own_set = gpu == "v100_32gb";
    const KernelEfficiency set = written(gpu);
    const Evidence& fitted = evidence_for(set.provenance, "tensor.tiles");
    EXPECT_EQ(fitted.is, Provenance::Fitted);
    EXPECT_EQ(fitted.source, "a table; error: of the rows held out");
    const Evidence& unmoved = evidence_for(set.provenance, "tensor.fixed_depth");
    EXPECT_EQ(unmoved.is, is_own_set ? Provenance::Fitted : Provenance::Derived);
    EXPECT_EQ(unmoved.source, "v100's: " + start.at("tensor").source);
    EXPECT_EQ(unmoved.error, is_own_set ? start.at("tensor").error : std::nullopt);
    EXPECT_TRUE(set.tensor.calibrated);
    EXPECT_EQ(set.fp32.calibrated, is_own_set);
  }
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
  auto rows = measured_there(lookups(60));
  rows.back().gpu = "a100_80gb";
  EXPECT_THAT([&] { (void)fit_constants(rows, v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("v100_32gb and a100_80gb")));
  EXPECT_THAT([&] { (void)fit_constants(measured_there(lookups(4)), v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("too few")));
  rows = measured_there(lookups(60));
  for (KernelMeasurement& row : rows) row.time = model_for(row.call).predict(row.call, v100("")).duration;
  EXPECT_THAT([&] { (void)fit_constants(rows, v100, 0.2); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("nothing to write")));
}

}  // namespace
}  // namespace lockstep
