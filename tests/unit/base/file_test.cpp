#include "base/file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

class File : public ::testing::Test {
 protected:
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator{folder_.path()}) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  template <class Act>
  std::string complaint_of(Act act) {
    try {
      act();
    } catch (const InputError& error) {
      return std::string{error.what()}.substr((folder_ / "").string().size());
    }
    return "accepted";
  }

  test::ScratchFolder folder_;
};

TEST_F(File, IsReadAsItWasWritten) {
  const std::string content{"a\r\n\0b", 5};
  write_whole_file(folder_ / "x/y/z.bin", content);
  EXPECT_EQ(read_own_file(folder_ / "x/y/z.bin"), content);
  EXPECT_EQ(files(), 1U);
}

TEST_F(File, AppearsOnlyWhenCommitted) {
  AtomicFile file{folder_ / "a.txt"};
  file.write("half");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.txt"));
  file.commit();
  EXPECT_EQ(read_own_file(folder_ / "a.txt"), "half");
}

TEST_F(File, SeveralAppearAllOrNot) {
  folder_.write("a.txt", "old");
  folder_.write("folder/b.txt", "");
  EXPECT_EQ(complaint_of([&] {
              write_whole_files({{folder_ / "a.txt", "new"}, {folder_ / "folder", "new"}});
            }),
            "folder: is a folder; a file is to be written");
  EXPECT_EQ(read_own_file(folder_ / "a.txt"), "old");
  EXPECT_EQ(files(), 2U);
  write_whole_files({{folder_ / "a.txt", "new"}, {folder_ / "c.txt", "new too"}});
  EXPECT_EQ(read_own_file(folder_ / "a.txt"), "new");
  EXPECT_EQ(read_own_file(folder_ / "c.txt"), "new too");
}

TEST_F(File, LeavesTheOldOneAloneWhenWritingFails) {
  folder_.write("a.txt", "old");
  try {
    AtomicFile file{folder_ / "a.txt"};
    file.write("half of the ne");
    throw std::runtime_error{"the run failed"};
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(read_own_file(folder_ / "a.txt"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(File, ReplacesALinkAndLeavesWhatItPointsTo) {
  folder_.write("results/a.txt", "precious");
  std::filesystem::create_symlink("results/a.txt", folder_ / "latest");
  write_whole_file(folder_ / "latest", "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "latest"));
  EXPECT_EQ(read_own_file(folder_ / "latest"), "new");
  EXPECT_EQ(read_own_file(folder_ / "results/a.txt"), "precious");
}

TEST_F(File, PipeThatNobodyReadsIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(complaint_of([&] { write_whole_file(folder_ / "pipe", "lost"); }),
            "pipe: is a pipe that nobody reads; a file is to be written");
}

/// Its name holds this machine and a process that cannot be: Linux has no more than 2^22.
TEST_F(File, LeftByADeadProcessIsRemovedByTheNext) {
  std::array<char, 256> machine{};
  gethostname(machine.data(), machine.size() - 1);
  folder_.write(fmt::format(".a.txt.{}.4194305-0123456789abcdef.part", machine.data()), "half");
  folder_.write(fmt::format(".a.txt.{}.{}-0123456789abcdef.part", machine.data(), getpid()), "at work");
  folder_.write(".a.txt.another-machine.4194305-0123456789abcdef.part", "who knows");
  write_whole_file(folder_ / "a.txt", "new");
  EXPECT_EQ(files(), 3U);
}

TEST_F(File, DevicesAreWrittenNotReplaced) {
  write_whole_file("/dev/null", "lost");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(File, MissingSuggestsItsNeighbour) {
  folder_.write("scenario.yaml", "");
  EXPECT_EQ(complaint_of([&] { read_whole_file(folder_ / "scenaro.yaml"); }),
            "scenaro.yaml: no such file - did you mean 'scenario.yaml'?");
  EXPECT_EQ(complaint_of([&] { read_whole_file(folder_ / "else.txt"); }), "else.txt: no such file");
}

TEST_F(File, ThatIsReadIsNotWrittenOver) {
  folder_.write("in.csv", "");
  folder_.write("x/y", "");
  std::filesystem::create_hard_link(folder_ / "in.csv", folder_ / "again.csv");
  (void)read_whole_file(folder_ / "in.csv");
  for (const char* name : {"x/../in.csv", "again.csv"}) {
    EXPECT_EQ(complaint_of([&] { write_whole_file(folder_ / name, "new"); }),
              std::string{name} + ": would be written over what is read: say another file");
  }
  EXPECT_EQ(complaint_of([&] { write_whole_file(folder_ / "out.csv", "new"); }), "accepted");
}

TEST_F(File, IsNoFolder) {
  folder_.write("x/y", "");
  EXPECT_EQ(complaint_of([&] { read_whole_file(folder_ / "x"); }), "x: is a folder; a file is expected");
  EXPECT_EQ(complaint_of([&] { write_whole_file(folder_ / "x", ""); }),
            "x: is a folder; a file is to be written");
  EXPECT_EQ(complaint_of([&] { write_whole_file(folder_ / "x/y/z", ""); }),
            "x/y/z: cannot be written: Not a directory");
}

}  // namespace
}  // namespace lockstep
