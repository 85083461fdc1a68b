#include "base/config_path.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

class Configs : public ::testing::Test {
 protected:
  Configs() {
    folder_.write("one/configs/gpus/a100.yaml", "");
    folder_.write("one/configs/gpus/notes.txt", "");
    folder_.write("two/configs/gpus/a100.yaml", "");
    folder_.write("two/configs/gpus/v100.yaml", "");
    folder_.write("two/configs/links/nvlink.yaml", "");
    folder_.write("two/scenarios/straggler/scenario.yaml", "");
    folder_.write("two/scenarios/no_scenario/README.md", "");
  }

  test::ScratchFolder folder_;
  ConfigPath path_{{folder_ / "one", folder_ / "two"}};
};

TEST_F(Configs, TheFirstRootWins) {
  EXPECT_EQ(path_.find("gpus", "a100"), folder_ / "one/configs/gpus/a100.yaml");
  EXPECT_EQ(path_.find("gpus", "v100"), folder_ / "two/configs/gpus/v100.yaml");
}

TEST_F(Configs, ANameOrAFileOfOnesOwn) {
  EXPECT_EQ(path_.find_or_file("gpus", "a100"), path_.find("gpus", "a100"));
  EXPECT_EQ(path_.find_or_file("gpus", "my_gpu.yaml"), "my_gpu.yaml");
  EXPECT_EQ(path_.find_or_file("gpus", "./a100"), "./a100");
}

TEST_F(Configs, AreListedOnceAndSorted) {
  EXPECT_EQ(path_.kinds(), (std::vector<std::string>{"gpus", "links"}));
  EXPECT_EQ(path_.names("gpus"), (std::vector<std::string>{"a100", "v100"}));
  EXPECT_EQ(path_.scenarios(), std::vector<std::string>{"straggler"});
}

TEST_F(Configs, ScenariosAreFoundByNameFolderAndFile) {
  const auto file = folder_ / "two/scenarios/straggler/scenario.yaml";
  EXPECT_EQ(path_.find_scenario("straggler"), file);
  EXPECT_EQ(path_.find_scenario((folder_ / "two/scenarios/straggler").string()), file);
  EXPECT_EQ(path_.find_scenario(file.string()), file);
}

TEST_F(Configs, UnknownNamesAreRefusedWithTheNearest) {
  try {
    static_cast<void>(path_.find_scenario("stragler"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "there is no scenario 'stragler', neither a file nor a shipped one - did you mean 'straggler'?");
  }
  try {
    static_cast<void>(path_.find("hosts", "xeon"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "there is no 'xeon' in configs/hosts, which holds nothing");
  }
}

TEST_F(Configs, HomeOfTheEnvironmentReplacesTheStandardRoots) {
  setenv("LOCKSTEP_HOME", (folder_ / "two").c_str(), 1);
  const ConfigPath standard = ConfigPath::standard();
  unsetenv("LOCKSTEP_HOME");
  EXPECT_EQ(standard.names("gpus"), (std::vector<std::string>{"a100", "v100"}));
}

TEST_F(Configs, SaysWhereShippedFilesWereLookedFor) {
  std::filesystem::create_directories(folder_ / "empty");
  setenv("LOCKSTEP_HOME", (folder_ / "empty").c_str(), 1);
  const ConfigPath standard = ConfigPath::standard();
  unsetenv("LOCKSTEP_HOME");
  try {
    static_cast<void>(standard.find("gpus", "a100"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(),
              "there is no 'a100' in configs/gpus: the files that ship with lockstep are missing; folders "
              "configs and scenarios were looked for in " +
                  (folder_ / "empty").string() + " (LOCKSTEP_HOME names another place)");
  }
}

TEST(IsPath, TellsPathsFromNames) {
  EXPECT_TRUE(is_path("mine.yaml"));
  EXPECT_TRUE(is_path("../mine"));
  EXPECT_FALSE(is_path("gpt2_1.5b"));
}

}  // namespace
}  // namespace lockstep
