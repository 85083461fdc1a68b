#include "app/comparison.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

/// `lockstep run --timeline-per-rank` writes rank 3 of 16 ranks as rank03.
TEST(Comparison, FindsTheFileOfARankByItsNumber) {
  const test::ScratchFolder folder;
  const testing::KinetoText timeline =
      testing::KinetoText{}.call("cudaLaunchKernel", 0, 5, 1).kernel("gemm", 10, 50, 7, 1);
  for (const char* name : {"timeline.rank3.json.gz", "timeline.rank12.json.gz"}) {
    folder.write(std::string{"ten/"} + name, timeline.text());
  }
  folder.write("sixteen/timeline.rank03.json.gz", timeline.text());
  EXPECT_EQ(compared_run((folder / "ten").string(), 3).run.work.size(), 1U);
  EXPECT_EQ(compared_run((folder / "ten").string(), 12).run.work.size(), 1U);
  EXPECT_EQ(compared_run((folder / "sixteen").string(), 3).run.work.size(), 1U);
  EXPECT_THROW((void)compared_run((folder / "sixteen").string(), 4), InputError);
}

}  // namespace
}  // namespace lockstep
