#include "base/citation.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(Citation, FilesOfOneNameAreNamedAsGiven) {
  EXPECT_THAT(told_apart({"a/run.log", "b/run.log", "b/other.log"}),
              ElementsAre("a/run.log", "b/run.log", "other.log"));
  EXPECT_EQ(cited({"a/run.log", "b/run.log", "b/other.log"}), "a/run.log, b/run.log, other.log");
}

TEST(Citation, ManyFilesAreTheirFoldersAndHowManyTheyAre) {
  std::vector<std::filesystem::path> files{"mine.csv"};
  for (int i = 0; i < 9; ++i) {
    files.push_back("runs/" + std::to_string(i) + ".log");
  }
  EXPECT_EQ(cited(files), "*.csv (1 file), runs/*.log (9 files)");
}

}  // namespace
}  // namespace lockstep
