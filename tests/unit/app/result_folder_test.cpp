#include "app/result_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "scenario/plan_file_meant.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_ours(const std::string& name) {
  return name == "a.json" || name == "b.json";
}

/// A result of these files, put in place.
void commit(const fs::path& folder, const std::map<std::string, std::string>& files) {
  ResultFolder results{folder, is_ours};
  for (const auto& [name, text] : files) {
    write_whole_file(results.staged() / name, text);
  }
  results.commit();
}

/// By name: the text of each file below a folder, hidden ones included.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator{folder}) {
    if (entry.is_regular_file() && entry.path().filename() != "manifest.json") {
      files[entry.path().lexically_relative(folder)] = read_own_file(entry.path());
    }
  }
  return files;
}

using Files = std::map<std::string, std::string>;

TEST(ResultFolder, IsMadeAtOnceAndGoneWhereNothingWasWritten) {
  const test::ScratchFolder scratch;
  {
    const ResultFolder folder{scratch.path() / "a" / "b", is_ours};
    EXPECT_TRUE(fs::is_directory(folder.path()));
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
  EXPECT_FALSE(fs::exists(scratch.path() / "a" / "b"));
}

TEST(ResultFolder, ThatIsAFileIsAnErrorBeforeAnyWork) {
  const test::ScratchFolder scratch;
  write_whole_file(scratch.path() / "file", "");
  EXPECT_THROW((ResultFolder{scratch.path() / "file", is_ours}), InputError);
  EXPECT_THROW((ResultFolder{scratch.path() / "file" / "folder", is_ours}), InputError);
  EXPECT_THROW(check_writable(scratch.path() / "file" / "x.json"), InputError);
  EXPECT_NO_THROW(check_writable(scratch.path() / "file"));
  EXPECT_EQ(std::distance(fs::directory_iterator{scratch.path()}, {}), 1);  // nothing is left of the checks
}

TEST(ResultFolder, ReplacesAWholeResultAndKeepsWhatIsTheUsers) {
  const test::ScratchFolder scratch;
  const fs::path folder = scratch / "out";
  commit(folder, {{"a.json", "old"}, {"extra.yaml", "old"}});
  scratch.write("out/notes/mine.txt", "notes");
  scratch.write("out/mine.yaml", "mine");
  fs::permissions(folder, fs::perms::owner_all);
  commit(folder, {{"b.json", "new"}});
  EXPECT_EQ(files_in(folder), (Files{{"b.json", "new"}, {"mine.yaml", "mine"}, {"notes/mine.txt", "notes"}}));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator{scratch.path()}, {}), 1);
}

TEST(ResultFolder, ThatFailedLeavesTheOldOne) {
  const test::ScratchFolder scratch;
  commit(scratch / "out", {{"a.json", "old"}});
  {
    const ResultFolder folder{scratch / "out", is_ours};
    write_whole_file(folder.staged() / "a.json", "half of the ne");
  }
  EXPECT_EQ(files_in(scratch.path()), (Files{{"out/a.json", "old"}}));
}

/// The shell of the user stands in it: the folder stays the same one.
TEST(ResultFolder, ThatIsTheCurrentOneIsFilledInPlace) {
  const test::ScratchFolder scratch;
  commit(scratch / "out", {{"a.json", "old"}, {"b.json", "old"}});
  fs::current_path(scratch / "out");
  commit(".", {{"a.json", "new"}});
  EXPECT_EQ(files_in("."), (Files{{"a.json", "new"}}));
  fs::current_path("/");
}

TEST(ResultFolder, IsWrittenByOneProcessAtATime) {
  const test::ScratchFolder scratch;
  const ResultFolder first{scratch / "out", is_ours};
  try {
    const ResultFolder second{scratch / "out", is_ours};
    FAIL() << "two at once";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                ::testing::EndsWith(fmt::format("out: another lockstep (pid {}) writes here: wait for "
                                                "it, or say another folder with -o",
                                                getpid())));
  }
}

TEST(ResultFolder, ClearsWhatKilledProcessesLeft) {
  const test::ScratchFolder scratch;
  scratch.write(".out.lockstep-4194305-abcdef/a.json", "half");
  commit(scratch / "out", {{"a.json", "new"}});
  EXPECT_EQ(files_in(scratch.path()), (Files{{"out/a.json", "new"}}));
}

TEST(ResultFolder, HoldsRegularFiles) {
  const test::ScratchFolder scratch;
  fs::create_directories(scratch / "out");
  ASSERT_EQ(mkfifo((scratch / "out/a.json").c_str(), 0600), 0);
  EXPECT_THROW((ResultFolder{scratch / "out", is_ours}), InputError);
}

TEST(ResultFolder, ReplacesALinkAndLeavesWhatItPointsTo) {
  const test::ScratchFolder scratch;
  scratch.write("victim", "precious");
  fs::create_directories(scratch / "out");
  fs::create_symlink("../victim", scratch / "out/a.json");
  commit(scratch / "out", {{"a.json", "new"}});
  EXPECT_EQ(files_in(scratch.path()), (Files{{"out/a.json", "new"}, {"victim", "precious"}}));
}

TEST(ResultFolder, IsNoFolderOfInputs) {
  const test::ScratchFolder scratch;
  scratch.write("out/b.json", "by hand");
  (void)read_whole_file(scratch / "out/b.json");
  EXPECT_THROW((ResultFolder{scratch / "out", is_ours}), InputError);
  EXPECT_EQ(files_in(scratch.path()), (Files{{"out/b.json", "by hand"}}));
}

TEST(ResultFolder, OfPartsOfTwoResultsIsRefused) {
  const test::ScratchFolder scratch;
  commit(scratch / "one", {{"a.json", "1"}, {"b.json", "1"}});
  commit(scratch / "two", {{"a.json", "2"}, {"b.json", "2"}});
  EXPECT_NO_THROW(check_is_one_result(scratch / "one", is_ours));
  fs::remove(scratch / "one/a.json");
  EXPECT_NO_THROW(check_is_one_result(scratch / "one", is_ours));
  fs::copy_file(scratch / "two/b.json", scratch / "one/b.json", fs::copy_options::overwrite_existing);
  EXPECT_THROW(check_is_one_result(scratch / "one", is_ours), InputError);
}

TEST(PlanFileMeant, IsTheYamlBesideIt) {
  const InputError error{{"best/plan.json", 3, 5}, "missing key 'tables' (numbers of the tables)"};
  EXPECT_THAT(plan_file_meant(error), ::testing::HasSubstr("takes the plan.yaml beside it"));
  EXPECT_EQ(plan_file_meant(InputError{{"mine.yaml", 3, 5}, "missing key 'tables'"}), "");
  EXPECT_EQ(plan_file_meant(InputError{{"best/plan.json"}, "no such file"}), "");
}

}  // namespace
}  // namespace lockstep
