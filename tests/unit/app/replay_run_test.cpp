/// @file
/// Replays of small profiles, as the command makes them.

#include "app/replay_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/replay_report.hpp"
#include "base/error.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using testing::KinetoText;

class ReplayRunTest : public ::testing::Test {
 protected:
  void write(const KinetoText& profile, const std::string& name = "r0.json") const {
    folder_.write(name, profile.text());
  }
  [[nodiscard]] ReplayRun replay(const std::string& edits = "{}") const {
    return {{folder_.path().string()}, YamlDocument::from_text(edits, "edits"), ConfigPath::standard()};
  }
  test::ScratchFolder folder_;
};

/// Two steps of three kernels of 100 us, which the host launches in 40 us: kernels of half the time halve
/// the step, a faster host does next to nothing.
TEST_F(ReplayRunTest, StepsOfAHostThatRunsAheadAreTheGpus) {
  KinetoText profile;
  for (int kernel = 0; kernel < 6; ++kernel) {
    const int at = 40 * (kernel / 3) + 10 * (kernel % 3);
    if (kernel % 3 == 0) {
      profile.op("ProfilerStep#0", at, 40);
    }
    profile.call("cudaLaunchKernel", at + 2, 5, kernel + 1);
    profile.kernel("gemm", 10 + 100 * kernel, 100, 7, kernel + 1);
  }
  write(profile);
  const auto step = [this](const std::string& edits) {
    const ReplayRun run = replay(edits);
    return mean_step(run.simulate(&run.spec().what_if)).simulated;
  };
  EXPECT_NEAR(step("{}"), 305e-6, 1e-9);
  EXPECT_NEAR(step("what_if: { gpu_speed: 2 }"), 155e-6, 1e-9);
  EXPECT_NEAR(step("what_if: { host_speed: 2 }"), 303.25e-6, 1e-9);  // the first kernel begins 3.5 us earlier
}

}  // namespace
}  // namespace lockstep
