#include "base/named.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

struct Gpu {
  static constexpr const char* kConfigKind = "gpus";
  std::string name;
  Bytes memory;

  template <class Visitor>
  static void describe(Visitor& key, Gpu& gpu) {
    key.required("name", gpu.name, "identifier");
    key.required("memory", gpu.memory, "on the device");
  }
};

struct Box {
  Named<Gpu> gpu;

  template <class Visitor>
  static void describe(Visitor& key, Box& box) {
    key.required("gpu", box.gpu, "in every slot");
  }
};

class NamedConfiguration : public ::testing::Test {
 protected:
  NamedConfiguration() {
    home_.write("home/configs/gpus/a100.yaml", "name: A100\nmemory: 40 GB\n");
    home_.write("home/configs/gpus/v100.yaml", "name: V100\nmemory: 16 GB\n");
    home_.write("here/mine.yaml", "name: mine\nmemory: 1 GB\n");
  }

  Box read(const std::string& text) {
    home_.write("here/box.yaml", text);
    return read_file<Box>(home_ / "here/box.yaml", ConfigPath{{home_ / "home"}});
  }

  std::string complaint_about(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& error) {
      std::string message = error.what();
      const std::string folder = (home_ / "").string();
      for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
        message.erase(at, folder.size());
      }
      return message;
    }
    return "accepted";
  }

  test::ScratchFolder home_;
};

TEST_F(NamedConfiguration, IsFoundByName) {
  const Box box = read("gpu: v100\n");
  EXPECT_EQ(box.gpu->name, "V100");
  EXPECT_EQ(box.gpu.name, "v100");
}

TEST_F(NamedConfiguration, IsFoundBesideTheScenarioFirst) {
  home_.write("here/gpus/v100.yaml", "name: special\nmemory: 1 GB\n");
  EXPECT_EQ(read("gpu: v100\n").gpu->name, "special");
}

TEST_F(NamedConfiguration, IsAFileRelativeToTheOneThatNamesIt) {
  EXPECT_EQ(read("gpu: ./mine.yaml\n").gpu->name, "mine");
}

TEST_F(NamedConfiguration, IsWrittenInPlace) {
  const Box box = read("gpu: {name: x, memory: 2 GB}\n");
  EXPECT_EQ(box.gpu->memory, 2_GB);
  EXPECT_EQ(box.gpu.name, "");
}

TEST_F(NamedConfiguration, IsChangedInPart) {
  const Box box = read("gpu: {from: a100, memory: 80 GB}\n");
  EXPECT_EQ(box.gpu->name, "A100");
  EXPECT_EQ(box.gpu->memory, 80_GB);
  EXPECT_EQ(box.gpu.name, "a100");
}

TEST_F(NamedConfiguration, IsChangedInPartByAnOverride) {
  YamlDocument document = YamlDocument::from_text("gpu: a100\n", "box.yaml");
  document.set("gpu.memory", "80 GB");
  const Box box = read_document<Box>(document, ConfigPath{{home_ / "home"}});
  EXPECT_EQ(box.gpu->name, "A100");
  EXPECT_EQ(box.gpu->memory, 80_GB);
}

TEST_F(NamedConfiguration, AnOverrideOfAPartHasToSayOfWhich) {
  YamlDocument box = YamlDocument::from_text("{}", "box.yaml");
  box.set("gpu.memory", yaml_node(YamlNode::Kind::Scalar, {"--set gpu.memory"}, "80 GB"));
  try {
    (void)read_document<Box>(box, ConfigPath{{home_ / "home"}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "--set gpu.memory: part of a configuration, but of which? Say it with 'from' beside it, a name of "
        "configs/gpus or a file");
  }
}

TEST_F(NamedConfiguration, SuggestsAName) {
  EXPECT_EQ(complaint_about("gpu: a1000\n"),
            "here/box.yaml:1:6: there is no 'a1000' in configs/gpus - did you mean 'a100'?");
  EXPECT_EQ(complaint_about("gpu: tesla\n"),
            "here/box.yaml:1:6: there is no 'tesla' in configs/gpus (one of: a100, v100)");
}

TEST_F(NamedConfiguration, MustBeANameOrAMapping) {
  EXPECT_EQ(complaint_about("gpu: [a100]\n"),
            "here/box.yaml:1:6: expected a name of configs/gpus, a file or a mapping, not a list");
}

TEST_F(NamedConfiguration, ReportsWhatIsWrongInsideWithTheNameThatLedThere) {
  home_.write("home/configs/gpus/t4.yaml", "name: T4\nmemori: 16 GB\n");
  EXPECT_EQ(
      complaint_about("gpu: t4\n"),
      "home/configs/gpus/t4.yaml:1:1: missing key 'memory' (on the device) (named at here/box.yaml:1:6)\n"
      "home/configs/gpus/t4.yaml:2:1: unknown key 'memori' - did you mean 'memory'? "
      "(named at here/box.yaml:1:6)");
  home_.write("home/configs/gpus/t4.yaml", "name: [\n");
  EXPECT_EQ(complaint_about("gpu: t4\n"),
            "home/configs/gpus/t4.yaml:2:1: not YAML: end of sequence flow not found "
            "(named at here/box.yaml:1:6)");
}

TEST_F(NamedConfiguration, BlamesTheChangeForAWrongChange) {
  EXPECT_EQ(complaint_about("gpu: {from: a100, memory: 80}\n"),
            "here/box.yaml:1:27: memory: '80' is not a size: the unit is missing "
            "(B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)");
}

}  // namespace
}  // namespace lockstep
