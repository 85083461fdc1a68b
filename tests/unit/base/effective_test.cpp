#include "base/effective.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/base/machine_fixture.hpp"

namespace lockstep {
namespace {

using test::MachineSpec;

class Effective : public ::testing::Test {
 protected:
  Effective() {
    folder_.write("configs/gpus/a100.yaml", "name: A100\nmemory: 40 GB\n");
    document_.set("batch", "7");
    document_.set("gpu.memory", "80 GB");
  }

  test::ScratchFolder folder_;
  ConfigPath configs_{{folder_.path()}};
  YamlDocument document_ = YamlDocument::from_text(
      "name: '8'\n"
      "links: [{bandwidth: 25 GB/s}, {bandwidth: 1 GB/s}]\n"
      "nodes: dgx x 2\n"
      "gpu: a100\n"
      "peak: {bf16: 3 TFLOPS}\n",
      "m.yaml");
};

TEST_F(Effective, NamesEveryValueAndItsOrigin) {
  EXPECT_EQ(effective_text<MachineSpec>(document_, configs_),
            "name: 8                                         # m.yaml:1\n"
            "nvlink: true                                    # default\n"
            "batch: 7                                        # --set batch\n"
            "efficiency: 1                                   # default\n"
            "precision: fp32                                 # default\n"
            "links:                                          # m.yaml:2\n"
            "  - bandwidth: 25 GB/s                          # m.yaml:2\n"
            "    latency: 1 us                               # default\n"
            "  - bandwidth: 1 GB/s                           # m.yaml:2\n"
            "    latency: 1 us                               # default\n"
            "peak:                                           # m.yaml:5\n"
            "  bf16: 3 TFLOPS                                # m.yaml:5\n"
            "overheads: {}                                   # default\n"
            "cache: ~                                        # default\n"
            "nodes: dgx x 2                                  # m.yaml:3\n"
            "gpu:                                            # m.yaml:4\n"
            "  name: A100                                    # configs/gpus/a100.yaml:1\n"
            "  memory: 80 GB                                 # --set gpu.memory\n");
}

TEST_F(Effective, ReadsBackAsTheSameWithNothingElseAtHand) {
  const auto before = read_document<MachineSpec>(document_, configs_);
  const auto after =
      read_text<MachineSpec>(effective_text<MachineSpec>(document_, configs_), "e.yaml", ConfigPath{{}});
  EXPECT_EQ(flow_text(yaml_of(after)), flow_text(yaml_of(before)));
  EXPECT_EQ(after.gpu->memory, Bytes{80e9});
}

TEST(YamlOf, WritesWhatTheReaderReads) {
  MachineSpec machine =
      read_text<MachineSpec>("name: 'a: \"b\" # c'\ncache: 3 MiB\nefficiency: 0.1\n", "m.yaml");
  machine.overheads["x, y"] = Seconds{1.0 / 3};
  const std::string text = flow_text(yaml_of(machine));
  const auto again = read_text<MachineSpec>(text, "again.yaml");
  EXPECT_EQ(again.name, "a: \"b\" # c");
  EXPECT_EQ(again.overheads.at("x, y"), Seconds{1.0 / 3});
  EXPECT_EQ(flow_text(yaml_of(again)), text);
}

class Scalars : public ::testing::TestWithParam<const char*> {};

TEST_P(Scalars, SurviveWritingAndReading) {
  const YamlNode list = YamlDocument::from_text("[" + quoted_if_needed(GetParam()) + "]", "s.yaml").root();
  ASSERT_EQ(list.items.size(), 1U);
  ASSERT_EQ(list.items[0].kind, YamlNode::Kind::Scalar);
  EXPECT_EQ(list.items[0].scalar, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Hard, Scalars,
                         ::testing::Values("", "~", "null", "a b", " a", "a ", "- a", "-1", ":", "a:", "a: b",
                                           "a::b", "#a", "a #b", "a,b", "[", "}", "'", "\"", "\\", "*a", "&a",
                                           "!a", "|", ">", "%", "@", "`", "a\nb", "a\tb", "?", "? a", "---",
                                           "<<", "\xc2\xb5s", "true", "=", "-"));

}  // namespace
}  // namespace lockstep
