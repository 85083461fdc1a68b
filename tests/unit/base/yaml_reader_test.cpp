#include "base/yaml_reader.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/support/scratch_folder.hpp"
#include "tests/unit/base/machine_fixture.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

using test::MachineSpec;
using test::Precision;

MachineSpec read(const std::string& text) {
  return read_text<MachineSpec>(text, "m.yaml", ConfigPath{{}});
}

std::string complaint_about(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(YamlReader, FillsEveryKindOfField) {
  const MachineSpec machine = read(R"(
name: box
nvlink: false
batch: 12345678901
efficiency: 0.5
precision: bf16
links: [{bandwidth: 25 GB/s, latency: 2 us}, {bandwidth: 100 Gb/s}]
peak: {fp32: 15 TFLOPS}
overheads: {aten::addmm: 3 us}
cache: 6 MiB
nodes: dgx_a100 x 4
)");
  EXPECT_EQ(machine.name, "box");
  EXPECT_FALSE(machine.nvlink);
  EXPECT_EQ(machine.batch, 12345678901);
  EXPECT_EQ(machine.efficiency, 0.5);
  EXPECT_EQ(machine.precision, Precision::Bf16);
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_EQ(machine.links[0].latency, 2_us);
  EXPECT_EQ(machine.links[1].bandwidth, 12.5_GBps);
  EXPECT_EQ(machine.links[1].latency, 1_us);
  EXPECT_EQ(machine.peak.at(Precision::Fp32), 15_TFLOPS);
  EXPECT_EQ(machine.overheads.at("aten::addmm"), 3_us);
  EXPECT_EQ(machine.cache, 6_MiB);
  EXPECT_EQ(machine.nodes.preset, "dgx_a100");
  EXPECT_EQ(machine.nodes.count, 4);
}

TEST(YamlReader, TakesTheDeclaredDefaults) {
  const MachineSpec machine = read("name: box\n");
  EXPECT_TRUE(machine.nvlink);
  EXPECT_EQ(machine.batch, 65536);
  EXPECT_EQ(machine.efficiency, 1.0);
  EXPECT_TRUE(machine.links.empty());
  EXPECT_EQ(machine.cache, std::nullopt);
  EXPECT_EQ(machine.nodes.preset, "pcie");
}

struct Mistake {
  const char* name;
  const char* text;
  const char* message;
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

class Inputs : public ::testing::TestWithParam<Mistake> {};

TEST_P(Inputs, AreRefusedWithThisMessage) {
  EXPECT_EQ(complaint_about(GetParam().text), GetParam().message);
}

const Mistake kMistakes[] = {
    {"Empty", "", "m.yaml:1:1: expected a mapping (key: value), not nothing"},
    {"List", "[a]", "m.yaml:1:1: expected a mapping (key: value), not a list"},
    {"Syntax", "name: [a\n", "m.yaml:2:1: not YAML: end of sequence flow not found"},
    {"Tab", "name: box\nlinks:\n\t- a\n", "m.yaml:3:2: not YAML: illegal block entry (tabs cannot indent)"},
    {"Unknown", "name: box\nefficency: 1\n",
     "m.yaml:2:1: unknown key 'efficency' - did you mean 'efficiency'?"},
    {"FarFromAll", "name: box\ncolour: red\n",
     "m.yaml:2:1: unknown key 'colour' (one of: name, nvlink, batch, efficiency, precision, links, peak, "
     "overheads, cache, nodes, gpu)"},
    {"Missing", "batch: 1\n", "m.yaml:1:1: missing key 'name' (identifier)"},
    {"Duplicate", "name: box\nname: bag\n", "m.yaml:2:1: key 'name' is given twice"},
    {"TwoMerges", "a: &a {name: x}\n<<: *a\n<<: *a\n",
     "m.yaml:1:1: unknown key 'a' (one of: name, nvlink, batch, efficiency, precision, links, peak, "
     "overheads, "
     "cache, nodes, gpu)\nm.yaml:3:1: key '<<' is given twice"},
    {"MergeOfScalar", "name: box\n<<: other\n",
     "m.yaml:2:5: <<: expected an alias of a mapping (e.g. <<: *base), not 'other'"},
    {"KeyNoWord", "name: box\n[a]: 1\n", "m.yaml:2:1: a key must be a word"},
    {"Unitless", "name: box\ncache: 6\n",
     "m.yaml:2:8: cache: '6' is not a size: the unit is missing (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
    {"WrongUnit", "name: box\nlinks: [{bandwidth: 3 TB}]\n",
     "m.yaml:2:21: bandwidth: '3 TB' is not a bandwidth: 'TB' is none of its units (GB/s, TB/s, GiB/s in "
     "bytes; "
     "Gb/s, Gbps in bits)"},
    {"NoNumber", "name: box\noverheads: {x: fast}\n",
     "m.yaml:2:16: x: 'fast' is not a time: expected a number and one of its units (s, ms, us, ns, min, h)"},
    {"NoInteger", "name: box\nbatch: 1e3\n",
     "m.yaml:2:8: batch: '1e3' is not a whole number: expected digits only, e.g. 65536"},
    {"TooLarge", "name: box\nbatch: 12345678901234567890\n",
     "m.yaml:2:8: batch: '12345678901234567890' is too large: at most 1000000000000"},
    {"NoTruth", "name: box\nnvlink: yes\n", "m.yaml:2:9: nvlink: expected true or false, not 'yes'"},
    {"NotFinite", "name: box\nefficiency: inf\n",
     "m.yaml:2:13: efficiency: 'inf' is not a number: it must be finite"},
    {"NoChoice", "name: box\nprecision: fp23\n",
     "m.yaml:2:12: precision: there is no 'fp23' - did you mean 'fp32'?"},
    {"NoChoiceAsKey", "name: box\npeak: {tf32: 1 TFLOPS}\n",
     "m.yaml:2:8: peak: there is no 'tf32' (one of: fp32, bf16)"},
    {"Nothing", "name:\n", "m.yaml:1:1: name: expected one value, not nothing"},
    {"MappingForScalar", "name: {a: b}\n", "m.yaml:1:7: name: expected one value, not a mapping"},
    {"ScalarForList", "name: box\nlinks: 25 GB/s\n",
     "m.yaml:2:8: links: expected a list, e.g. [a, b], not '25 GB/s'"},
    {"ScalarForMapping", "name: box\nlinks: [25 GB/s]\n",
     "m.yaml:2:9: links: expected a mapping (key: value), not '25 GB/s'"},
    {"Check", "name: box\nlinks: [{bandwidth: 0 GB/s}]\n", "m.yaml:2:21: bandwidth: must be greater than 0"},
    {"Shorthand", "name: box\nnodes: dgx\n", "m.yaml:2:8: nodes: expected e.g. dgx_a100 x 4, not 'dgx'"},
    {"SeveralInTheOrderOfTheFile", "nvlnk: true\nbatch: many\ncache: 6 XB\nbatch: 3\n",
     "m.yaml:1:1: missing key 'name' (identifier)\n"
     "m.yaml:1:1: unknown key 'nvlnk' - did you mean 'nvlink'?\n"
     "m.yaml:2:8: batch: 'many' is not a whole number: expected digits only, e.g. 65536\n"
     "m.yaml:3:8: cache: '6 XB' is not a size: 'XB' is none of its units (B, kB, MB, GB, TB, KiB, MiB, GiB, "
     "TiB)\n"
     "m.yaml:4:1: key 'batch' is given twice"},
};

INSTANTIATE_TEST_SUITE_P(Yaml, Inputs, ::testing::ValuesIn(kMistakes),
                         [](const auto& instance) { return instance.param.name; });

TEST(YamlReader, HoldsEachProblemApart) {
  try {
    read("batch: x\n");
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 2U);
    EXPECT_EQ(error.problems()[1].where.column, 8);
  }
}

TEST(YamlReader, PointsAtAnOverrideThatIsWrong) {
  YamlDocument document = YamlDocument::from_text("name: box\n", "m.yaml");
  document.set("batch", "x");
  try {
    read_document<MachineSpec>(document, ConfigPath{{}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--set batch: batch: 'x' is not a whole number: expected digits only, e.g. 65536");
  }
}

TEST(YamlReader, ShowsHowAnIncludedMistakeGotHere) {
  const test::ScratchFolder folder;
  folder.write("a.yaml", "name: a\ninclude: b.yaml\n");
  folder.write("b.yaml", "batch: x\n");
  const std::string at = (folder / "").string();
  try {
    read_file<MachineSpec>(folder / "a.yaml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              at +
                  "b.yaml:1:8: batch: 'x' is not a whole number: expected digits only, e.g. 65536 "
                  "(included from " +
                  at + "a.yaml:2:10)");
  }
}

}  // namespace
}  // namespace lockstep
