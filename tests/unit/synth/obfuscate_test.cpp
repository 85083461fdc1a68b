#include "synth/obfuscate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.hpp"
#include "synth/constraints.hpp"
#include "synth/fit.hpp"
#include "synth/model_file.hpp"
#include "tests/support/layered_job.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/chakra/job_writer.hpp"

namespace lockstep::synth {
namespace {

using testing::layered_job;
using testing::LayeredSizes;

TEST(Obfuscate, NumbersBecomeCoarse) {
  EXPECT_DOUBLE_EQ(coarse(12'288, SizeHiding::TwoDigits), 12'000);
  EXPECT_DOUBLE_EQ(coarse(0.0001236, SizeHiding::TwoDigits), 0.00012);
  EXPECT_DOUBLE_EQ(coarse(12'288, SizeHiding::Log2), 16'384);  // 2^13.58
  EXPECT_DOUBLE_EQ(coarse(12'288, SizeHiding::Exact), 12'288);
  EXPECT_DOUBLE_EQ(coarse(0, SizeHiding::TwoDigits), 0);
}

/// A job of so many kernels without shapes, whose times are 1, 2, 3, ... us.
Recording timed_kernels(int kernels) {
  ProgramBuilder rank{plain_host()};
  const StreamId stream = rank.stream("s");
  for (int i = 1; i <= kernels; ++i) {
    rank.launch(stream, {"ampere_sgemm_128x64", DataType::FP32, Timed{Seconds{1e-6 * i}}});
  }
  Recording made;
  made.job.programs.push_back(std::make_shared<const Program>(std::move(rank).build()));
  made.job.ranks.push_back({0, 0, {}, {}, {}});
  return made;
}

// Groups of 5 neighbours; the last has the 2 that are left too: 1..5 -> 3, 6..12 -> 9 us. The sum stays.
TEST(Obfuscate, KernelsShareTheirTimeWithKOfTheirClass) {
  FitOptions exact;
  exact.exact = true;
  const std::vector<Recording> recordings{timed_kernels(12)};
  Model model = fit(recordings, exact);
  SampleOptions options;
  const ObfuscateReport report = obfuscate(model, {}, options);
  EXPECT_EQ(report.shared, 12U);
  std::map<double, int> times;
  double sum = 0;
  for (const KernelEntry& kernel : model.jobs.front().templates.front().kernels) {
    const double seconds = std::get<Timed>(kernel.call.work).duration.in_base_units();
    ++times[std::round(1e7 * seconds) / 10];
    sum += seconds;
  }
  EXPECT_EQ(times, (std::map<double, int>{{3, 5}, {9, 7}}));
  EXPECT_NEAR(sum, 78e-6, 1e-12);
}

// hidden 1,234 -> 1,200, 480 tokens stay 480; products follow from them: what one writes, the next one reads.
TEST(Obfuscate, ShapesFollowFromCoarseSymbols) {
  LayeredSizes sizes;
  sizes.hidden = 1234;
  Recording recording;
  recording.job = layered_job(sizes);
  recording.gpu = testing::shipped_a100();
  FitOptions exact;
  exact.exact = true;
  Model model = fit(std::vector{recording}, exact);
  SampleOptions options;
  ObfuscateOptions how;
  how.k = 1;  // all kernels stay
  static_cast<void>(obfuscate(model, how, options));
  const Sample made = sample(model, recording.gpu, options);
  for (const KernelCall& call : made.job.programs.front()->kernels) {
    if (const auto* product = std::get_if<Gemm>(&call.work)) {
      const auto one_of = [](std::int64_t size) { return size == 480 || size == 1200 || size == 4800; };
      EXPECT_TRUE(one_of(product->m) && one_of(product->n) && one_of(product->k))
          << product->m << " " << product->n << " " << product->k;
    }
  }
}

Sample sample_of(const Recording& recording, Model& model) {
  FitOptions exact;
  exact.exact = true;
  model = fit(std::vector{recording}, exact);
  SampleOptions options;
  static_cast<void>(obfuscate(model, {}, options));
  return sample(model, recording.gpu, options);
}

// A job alone shows pieces; with four that are like it, the kernels that all five have stay.
TEST(Obfuscate, KernelsStayThatKJobsHave) {
  Recording recording;
  recording.job = layered_job({});
  recording.gpu = testing::shipped_a100();
  Model model;
  KernelSupport support;
  Sample alone = sample_of(recording, model);
  add_support(alone.job, support);
  Sample among = alone;
  const AggregateReport hidden = hide_rare(alone, model.jobs.front(), recording.gpu, {}, support);
  EXPECT_LT(hidden.left_launches, hidden.launches / 2);
  for (int other = 1; other < 5; ++other) add_support(among.job, support);
  const AggregateReport shown = hide_rare(among, model.jobs.front(), recording.gpu, {}, support);
  EXPECT_EQ(shown.left_launches, shown.launches);
}

// Two jobs of different depth and width show the same number of pieces.
TEST(Obfuscate, PiecesDoNotTellLayers) {
  std::vector<std::uint64_t> pieces;
  for (const int layers : {8, 24}) {
    LayeredSizes sizes;
    sizes.layers = layers;
    sizes.hidden = std::int64_t{16} * layers;
    Recording recording;
    recording.job = layered_job(sizes);
    recording.gpu = testing::shipped_a100();
    Model model;
    Sample made = sample_of(recording, model);
    pieces.push_back(hide_rare(made, model.jobs.front(), recording.gpu, {}, {}).left_launches);
    EXPECT_EQ(conflict_of(made.job), "");
  }
  EXPECT_EQ(pieces[0], pieces[1]);
}

bool holds_secret(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find("acme") != std::string::npos || text.find("mega") != std::string::npos;
}

// Trap 6: names of kernels, operators, streams and groups hold the model's name. No file has any of it.
TEST(Obfuscate, NoTextOfTheSourceIsInAnyFile) {
  Recording recording;
  recording.job = layered_job({});
  recording.gpu = testing::shipped_a100();
  recording.job.groups.front().name = "AcmeMegaModelV7_world";
  FitOptions exact;
  exact.exact = true;
  Model model = fit(std::vector{recording}, exact);
  EXPECT_FALSE(holds_secret(to_json(model)));
  SampleOptions options;
  static_cast<void>(obfuscate(model, {}, options));
  const Sample made = sample(model, recording.gpu, options);
  const test::ScratchFolder folder;
  const std::vector<GpuSpec> gpus{recording.gpu};
  const std::vector<std::uint32_t> of_rank(made.job.ranks.size(), 0);
  static_cast<void>(
      write_chakra({&made.job, gpus, of_rank}, {folder.path(), "rank", false}, [](std::uint32_t) {}));
  for (const auto& entry : std::filesystem::directory_iterator{folder.path()}) {
    EXPECT_FALSE(holds_secret(read_whole_file(entry.path()))) << entry.path();
  }
}

TEST(Obfuscate, HidingTheTotalsScalesThem) {
  Recording recording;
  recording.job = layered_job({});
  recording.gpu = testing::shipped_a100();
  FitOptions exact;
  exact.exact = true;
  Model model = fit(std::vector{recording}, exact);
  ObfuscateOptions how;
  how.hide_totals = true;
  how.seed = 5;
  SampleOptions options;
  const ObfuscateReport report = obfuscate(model, how, options);
  EXPECT_NE(report.scale, 1);
  EXPECT_GE(options.symbols.at("layers"), 3);
}

}  // namespace
}  // namespace lockstep::synth
