#include "synth/launch_rows.hpp"

#include <gtest/gtest.h>

#include "synth/express_sizes.hpp"
#include "synth/sample.hpp"
#include "tests/support/layered_job.hpp"

namespace lockstep::synth {
namespace {

constexpr std::int64_t kChunk = 20'971'520;

/// A job with an update of @p sizes parameters, one launch each, behind a linear layer of hidden x hidden.
struct UpdatedJob {
  explicit UpdatedJob(const std::vector<std::int64_t>& sizes, double hidden = 1024) {
    add(Gemm{1, 512, static_cast<std::int64_t>(hidden), static_cast<std::int64_t>(hidden)});
    add(Gemm{1, static_cast<std::int64_t>(hidden), static_cast<std::int64_t>(hidden), 512, true});
    for (const std::int64_t size : sizes) {
      OptimizerUpdate update;
      update.parameters = size;
      add(update);
    }
    job.symbols = {{"batch", 512}, {"hidden", hidden}};
  }

  void add(const KernelWork& work) {
    Item item;
    item.token.op = Opcode::Launch;
    item.token.operand = static_cast<std::uint32_t>(tmpl().kernels.size());
    tmpl().kernels.push_back({{"k", DataType::FP32, work}, {}, 0, 0, 1});
    tmpl().body.push_back(item);
  }
  Template& tmpl() { return job.templates.front(); }

  JobModel job{.templates = std::vector<Template>(1)};
};

// Nobody knows what of 20,971,520 = 20 * 1024^2 is chance; its neighbours are chunks as full as it is.
TEST(LaunchRows, FullChunksAndTheRestAreARow) {
  UpdatedJob updated{{kChunk, kChunk - 65'536, kChunk, 1'000'000}};
  express_sizes({&updated.job, 1});
  const std::vector<LaunchRow> rows = launch_rows(updated.tmpl());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].first, 2U);
  EXPECT_EQ(rows[0].last, 6U);
  EXPECT_EQ(rows[0].launches.size(), 4U);
  for (const Item* launch : rows[0].launches) {
    EXPECT_TRUE(updated.tmpl().kernels[launch->token.operand].sizes.front().with_parameters);
  }
}

// One launch a tensor: 1024^2, 4 * 1024^2. They grow with hidden, and their number stays.
TEST(LaunchRows, TensorsOfUnlikeSizesAreNone) {
  UpdatedJob updated{{1 << 20, 4 << 20, 1 << 20, 1024}};
  express_sizes({&updated.job, 1});
  EXPECT_TRUE(launch_rows(updated.tmpl()).empty());
}

// 512 tokens and a hidden size of 512: the weight's sides stay when the batch grows.
TEST(ExpressSizes, SidesOfAWeightDoNotFollowTheBatch) {
  UpdatedJob updated{{}, 512};
  express_sizes({&updated.job, 1});
  constexpr std::size_t kM = 1, kN = 2, kK = 3;
  const std::vector<Monomial>& forward = updated.tmpl().kernels[0].sizes;
  EXPECT_EQ(to_text(forward[kM]), "batch");
  EXPECT_EQ(to_text(forward[kN]), "hidden");
  EXPECT_EQ(to_text(forward[kK]), "hidden");
}

}  // namespace
}  // namespace lockstep::synth
