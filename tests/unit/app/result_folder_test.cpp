#include "app/result_folder.hpp"

#include <gmock/gmock.h>

#include "app/plan_file_meant.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

TEST(ResultFolder, IsMadeAtOnceAndGoneWhereNothingWasWritten) {
  const test::ScratchFolder scratch;
  {
    const ResultFolder folder{scratch.path() / "a" / "b"};
    EXPECT_TRUE(fs::is_directory(folder.path()));
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
  EXPECT_FALSE(fs::exists(scratch.path() / "a" / "b"));
}

TEST(ResultFolder, ThatIsAFileIsAnErrorBeforeAnyWork) {
  const test::ScratchFolder scratch;
  write_whole_file(scratch.path() / "file", "");
  EXPECT_THROW(ResultFolder{scratch.path() / "file"}, InputError);
  EXPECT_THROW(ResultFolder{scratch.path() / "file" / "folder"}, InputError);
  EXPECT_THROW(check_writable(scratch.path() / "file" / "x.json"), InputError);
  EXPECT_NO_THROW(check_writable(scratch.path() / "file"));
  EXPECT_EQ(std::distance(fs::directory_iterator{scratch.path()}, {}), 1);  // nothing is left of the checks
}

TEST(ResultFolder, LosesWhatARunBeforeLeft) {
  const test::ScratchFolder scratch;
  for (const char* name : {"old.yaml", "other.yaml"}) {
    write_whole_file(scratch.path() / name, "");
  }
  remove_old(scratch.path(), [](const std::string& name) { return name == "old.yaml"; });
  EXPECT_FALSE(fs::exists(scratch.path() / "old.yaml"));
  EXPECT_TRUE(fs::exists(scratch.path() / "other.yaml"));
  EXPECT_NO_THROW(remove_old(scratch.path() / "none", [](const std::string&) { return true; }));
}

TEST(PlanFileMeant, IsTheYamlBesideIt) {
  const InputError error{{"best/plan.json", 3, 5}, "missing key 'tables' (numbers of the tables)"};
  EXPECT_THAT(plan_file_meant(error), ::testing::HasSubstr("takes the plan.yaml beside it"));
  EXPECT_EQ(plan_file_meant(InputError{{"mine.yaml", 3, 5}, "missing key 'tables'"}), "");
  EXPECT_EQ(plan_file_meant(InputError{{"best/plan.json"}, "no such file"}), "");
}

}  // namespace
}  // namespace lockstep
