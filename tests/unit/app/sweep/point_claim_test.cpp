#include "app/sweep/point_claim.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

TEST(PointClaims, OnlyOneHasAPoint) {
  const test::ScratchFolder folder;
  PointClaims claims{folder.path()};
  EXPECT_TRUE(claims.claim("a"));
  EXPECT_FALSE(claims.claim("a"));
  EXPECT_TRUE(claims.is_held("a"));
  EXPECT_TRUE(claims.claim("b"));
  claims.release("a");
  EXPECT_FALSE(claims.is_held("a"));
  EXPECT_TRUE(claims.claim("a"));
}

TEST(PointClaims, ADeadProcessOfThisMachineHoldsNothing) {
  const test::ScratchFolder folder;
  PointClaims claims{folder.path()};
  std::string identity = process_identity(getpid());
  ASSERT_FALSE(identity.empty());
  folder.write("alive.claim", identity + "\n");
  EXPECT_FALSE(claims.claim("alive"));
  identity.back() = identity.back() == '1' ? '2' : '1';  // the number went to a process that began later
  folder.write("dead.claim", identity + "\n");
  EXPECT_TRUE(claims.claim("dead"));
}

TEST(PointClaims, AProcessElsewhereHoldsWhatItRenews) {
  const test::ScratchFolder folder;
  PointClaims claims{folder.path()};
  folder.write("fresh.claim", "another-machine.invalid 1 1\n");
  folder.write("old.claim", "another-machine.invalid 1 1\n");
  const auto long_ago = std::filesystem::file_time_type::clock::now() - 2 * PointClaims::kStaleAfter;
  std::filesystem::last_write_time(folder / "old.claim", long_ago);
  EXPECT_FALSE(claims.claim("fresh"));
  EXPECT_TRUE(claims.claim("old"));
  std::filesystem::last_write_time(folder / "fresh.claim", long_ago);
  claims.renew("fresh");
  EXPECT_FALSE(claims.claim("fresh"));
}

/// The clock of the machine that was killed was wrong; a year is no time to wait.
TEST(PointClaims, ADateInTheFutureIsWatchedNotBelieved) {
  const test::ScratchFolder folder;
  PointClaims claims{folder.path(), std::chrono::milliseconds{20}};
  folder.write("a.claim", "another-machine.invalid 1 1\n");
  const auto next_year = std::filesystem::file_time_type::clock::now() + std::chrono::hours{24 * 365};
  std::filesystem::last_write_time(folder / "a.claim", next_year);
  EXPECT_FALSE(claims.claim("a"));
  EXPECT_EQ(claims.holder("a"), "process 1 of another-machine.invalid, which claims a point (" +
                                    (folder / "a.claim").string() + ")");
  std::this_thread::sleep_for(std::chrono::milliseconds{15});
  std::filesystem::last_write_time(folder / "a.claim", next_year + std::chrono::seconds{1});  // it lives
  EXPECT_FALSE(claims.claim("a"));
  std::this_thread::sleep_for(std::chrono::milliseconds{25});
  EXPECT_TRUE(claims.claim("a"));
}

}  // namespace
}  // namespace lockstep
