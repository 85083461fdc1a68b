#include "calibration/kernels/kernel_fit.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/error_summary.hpp"
#include "ops/gpu/learned_scale.hpp"
#include "ops/kernels/learned.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

const GpuSpec& p100(const std::string& /*name*/) {
  static const GpuSpec gpu = [] {
    auto read = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/p100_16gb_pcie.yaml");
    read.learned = std::nullopt;
    return read;
  }();
  return gpu;
}

Seconds formula(const KernelCall& call) {
  return model_for(call).predict(call, p100("")).duration;
}

KernelFitOptions quick() {
  KernelFitOptions options;
  options.training.most_epochs = 120;
  return options;
}

/// Softmaxes that take @p factor(columns) times what the formula says.
template <class Factor>
KernelMeasurements softmaxes(std::size_t count, std::uint64_t seed, Factor factor) {
  const Random random{seed, "softmaxes"};
  KernelMeasurements rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rows_of = static_cast<std::int64_t>(std::exp2(8 + 8 * random.uniform(2 * i)));
    const auto columns = static_cast<std::int64_t>(std::exp2(6 + 4 * random.uniform(2 * i + 1)));
    const KernelCall call{"softmax", DataType::FP32, Softmax{rows_of, columns}};
    rows.push_back({"p100_16gb_pcie", call, formula(call) * factor(static_cast<double>(columns))});
  }
  return rows;
}

double mean_error(const std::vector<double>& errors) {
  return summarise(errors).mean;
}

// Long rows stream better than the formula, which has one fraction for all, can know.
TEST(KernelFit, takes_a_network_that_knows_more_than_the_formula) {
  const auto rows = softmaxes(600, 1, [](double columns) { return 2 - std::log2(columns) / 10; });
  const KernelFit fit = fit_kernels(rows, {}, p100, quick());
  ASSERT_EQ(fit.kernels.size(), 1U);
  const FittedKernel& kernel = fit.kernels.front();
  EXPECT_TRUE(kernel.taken);
  EXPECT_LT(mean_error(kernel.errors.at(1).network), 0.7 * mean_error(kernel.errors.at(1).formula));
  EXPECT_GT(mean_error(kernel.errors.at(1).formula), 0.1);
  EXPECT_GT(kernel.errors.at(1).network.size(), 80U);
}

// Four rows at each end tell a network nothing, wherever they lie.
TEST(KernelFit, a_network_answers_where_rows_are_dense) {
  std::vector<std::vector<double>> values;
  for (int i = 0; i < 1000; ++i) values.push_back({i < 4 ? -1e6 : i > 995 ? 1e6 : i});
  EXPECT_EQ(ranges_of({"log_rows"}, values).front(), (LearnedFeature{"log_rows", 4, 995}));
  values.resize(1);
  EXPECT_EQ(ranges_of({"log_rows"}, values).front(), (LearnedFeature{"log_rows", -1e6, -1e6}));
}

TEST(KernelFit, leaves_out_a_network_that_knows_less) {
  const auto rows = softmaxes(300, 1, [](double /*columns*/) { return 1.0; });
  const KernelFit fit = fit_kernels(rows, {}, p100, quick());
  EXPECT_FALSE(fit.kernels.front().taken);
  EXPECT_THAT(kernel_fit_text(fit), HasSubstr("left out"));
  EXPECT_THROW((void)learned_kernels_yaml(fit, "name", "source"), std::invalid_argument);
}

// Learned where rows of 64 to 1 Ki columns take half as long again; the test's take what the formula says.
TEST(KernelFit, a_test_of_the_same_gpu_may_say_no) {
  const auto rows = softmaxes(400, 1, [](double /*columns*/) { return 1.5; });
  const KernelTest other{"other", softmaxes(60, 2, [](double /*columns*/) { return 1.0; })};
  EXPECT_TRUE(fit_kernels(rows, {}, p100, quick()).kernels.front().taken);
  EXPECT_FALSE(fit_kernels(rows, {other}, p100, quick()).kernels.front().taken);
}

TEST(KernelFit, too_few_rows_make_no_network) {
  const auto rows = softmaxes(50, 1, [](double /*columns*/) { return 1.5; });
  const KernelFit fit = fit_kernels(rows, {}, p100, quick());
  EXPECT_FALSE(fit.kernels.front().trained);
  EXPECT_THAT(kernel_fit_text(fit), HasSubstr("too few"));
}

// The longest rows are held out, eight of them: the network that is kept has learned from them, and answers
// for the first.
TEST(KernelFit, the_network_that_is_kept_has_learned_from_held_out_rows) {
  auto rows = softmaxes(400, 1, [](double /*columns*/) { return 1.5; });
  std::vector<KernelCall> longest;
  for (std::int64_t columns = 1100; longest.size() < 8; ++columns) {
    const KernelCall call{"softmax", DataType::FP32, Softmax{4096, columns}};
    if (place_of_shape(call.work) < quick().held_out) longest.push_back(call);
  }
  for (const KernelCall& call : longest) rows.push_back({"p100_16gb_pcie", call, formula(call) * 1.5});
  const FittedKernel kernel = fit_kernels(rows, {}, p100, quick()).kernels.front();
  EXPECT_GE(kernel.errors.at(1).beyond.size(), 8U);  // of the network that is judged
  EXPECT_TRUE(covers(kernel.network, *kernel_features(longest.front(), p100(""))));
}

// The file has the fitted networks: read back, it predicts the same to the digits of the file.
TEST(KernelFit, the_file_predicts_what_was_fitted) {
  const auto rows = softmaxes(400, 1, [](double /*columns*/) { return 1.5; });
  const KernelFit fit = fit_kernels(rows, {}, p100, quick());
  const std::string text = learned_kernels_yaml(fit, "mine", "made up");
  const auto read = read_text<LearnedKernels>(text, "mine.yaml");
  ASSERT_EQ(read.kernels.size(), 1U);
  EXPECT_EQ(read.gpus, std::vector<std::string>{"p100_16gb_pcie"});
  EXPECT_EQ(differences(read.scale.at("p100_16gb_pcie"), scale_of(p100(""))), "");
  for (std::size_t i = 0; i < 20; ++i) {
    const auto seen = kernel_features(rows[i].call, p100(""));
    EXPECT_NEAR(learned_time(read.kernels.front(), *seen, p100("")) /
                    learned_time(fit.kernels.front().network, *seen, p100("")),
                1, 1e-4);
  }
}

/// Fused lookups of 1 to 12 unlike tables; the kernel takes longer the more tables it has, which the
/// mechanistic formula does not know.
KernelMeasurements lookups(std::size_t count) {
  const Random random{5, "lookups"};
  KernelMeasurements rows;
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EmbeddingBags bags;
    bags.batch = std::int64_t{256} << (random.bits(drawn++) % 5);
    const auto tables = 1 + random.bits(drawn++) % 12;
    for (std::uint64_t table = 0; table < tables; ++table) {
      EmbeddingTable made{.rows = static_cast<std::int64_t>(std::exp2(10 + 12 * random.uniform(drawn++))),
                          .dimension = std::int64_t{16} << (random.bits(drawn++) % 4),
                          .pooling_factor = std::exp2(5 * random.uniform(drawn++))};
      made.index_skew = 2;
      bags.tables.push_back(made);
    }
    const KernelCall call{"lookup", DataType::FP32, bags};
    rows.push_back({"p100_16gb_pcie", call, formula(call) * (1 + 0.05 * static_cast<double>(tables))});
  }
  return rows;
}

TEST(KernelFit, a_set_network_learns_fused_lookups_of_unlike_tables) {
  const KernelFit fit = fit_kernels(lookups(1000), {}, p100, quick());
  const FittedKernel& kernel = fit.kernels.front();
  ASSERT_EQ(kernel.network.family, LearnedFamily::EmbeddingForward);
  EXPECT_TRUE(kernel.taken) << kernel_fit_text(fit);
  EXPECT_LT(mean_error(kernel.errors.at(1).network), mean_error(kernel.errors.at(1).formula));
  EXPECT_FALSE(kernel.network.trunk.empty());
}

TEST(KernelFit, shares_that_leave_nothing_are_refused) {
  KernelFitOptions options;
  options.held_out = 0.9;
  EXPECT_THROW((void)fit_kernels({}, {}, p100, options), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
