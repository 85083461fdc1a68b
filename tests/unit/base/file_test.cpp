#include "base/file.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(read_whole_file(folder_ / "x/y/z.bin"), content);
  EXPECT_EQ(files(), 1U);
}

TEST_F(File, AppearsOnlyWhenCommitted) {
  AtomicFile file{folder_ / "a.txt"};
  file.write("half");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.txt"));
  file.commit();
  EXPECT_EQ(read_whole_file(folder_ / "a.txt"), "half");
}

TEST_F(File, SeveralAppearAllOrNot) {
  folder_.write("a.txt", "old");
  folder_.write("folder/b.txt", "");
  EXPECT_EQ(complaint_of([&] {
              write_whole_files({{folder_ / "a.txt", "new"}, {folder_ / "folder", "new"}});
            }),
            "folder: is a folder; a file is to be written");
  EXPECT_EQ(read_whole_file(folder_ / "a.txt"), "old");
  EXPECT_EQ(files(), 2U);
  write_whole_files({{folder_ / "a.txt", "new"}, {folder_ / "c.txt", "new too"}});
  EXPECT_EQ(read_whole_file(folder_ / "a.txt"), "new");
  EXPECT_EQ(read_whole_file(folder_ / "c.txt"), "new too");
}

TEST_F(File, LeavesTheOldOneAloneWhenWritingFails) {
  folder_.write("a.txt", "old");
  try {
    AtomicFile file{folder_ / "a.txt"};
    file.write("half of the ne");
    throw std::runtime_error{"the run failed"};
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(read_whole_file(folder_ / "a.txt"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(File, IsWrittenWhereALinkPoints) {
  std::filesystem::create_directory(folder_ / "results");
  std::filesystem::create_symlink("results/a.txt", folder_ / "latest");
  write_whole_file(folder_ / "latest", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "latest"));
  EXPECT_EQ(read_whole_file(folder_ / "results/a.txt"), "new");
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
  EXPECT_EQ(complaint_of([&] { keep_inputs(folder_ / "x/../in.csv", {folder_ / "in.csv"}); }),
            "x/../in.csv: would be written over what is read: say another file");
  EXPECT_NO_THROW(keep_inputs(folder_ / "out.csv", {folder_ / "in.csv"}));
  EXPECT_NO_THROW(keep_inputs("", {folder_ / "in.csv"}));
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
