#include "base/yaml_reader.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using namespace lockstep::literals;

enum class Precision { Fp32, Bf16 };

constexpr auto names_of(Precision /*unused*/) {
  return std::to_array<EnumName<Precision>>({{Precision::Fp32, "fp32"}, {Precision::Bf16, "bf16"}});
}

struct LinkSpec {
  BytesPerSecond bandwidth;
  Seconds latency;

  template <class Visitor>
  static void describe(Visitor& key, LinkSpec& link) {
    key.required("bandwidth", link.bandwidth, "of one direction, e.g. 25 GB/s");
    key.optional("latency", link.latency, 1_us, "of the first byte");
  }

  void check() const {
    if (bandwidth <= BytesPerSecond{0}) {
      throw FieldError{"bandwidth", "must be greater than 0"};
    }
  }
};

struct Nodes {
  std::string preset;
  int count = 0;

  static Nodes parse(const std::string& text) {
    const auto times = text.find(" x ");
    if (times == std::string::npos) {
      throw std::invalid_argument{"expected e.g. dgx_a100 x 4, not '" + text + "'"};
    }
    return {text.substr(0, times), std::stoi(text.substr(times + 3))};
  }

  template <class Visitor>
  static void describe(Visitor& key, Nodes& nodes) {
    key.required("preset", nodes.preset, "kind of node");
    key.required("count", nodes.count, "how many");
  }
};

struct MachineSpec {
  std::string name;
  bool nvlink = false;
  std::int64_t batch = 0;
  double efficiency = 0;
  Precision precision{};
  std::vector<LinkSpec> links;
  std::map<Precision, FlopsPerSecond> peak;
  std::map<std::string, Seconds, std::less<>> overheads;
  std::optional<Bytes> cache;
  Nodes nodes;

  template <class Visitor>
  static void describe(Visitor& key, MachineSpec& machine) {
    key.required("name", machine.name, "identifier");
    key.optional("nvlink", machine.nvlink, true, "whether there is any");
    key.optional("batch", machine.batch, 65536, "samples");
    key.optional("efficiency", machine.efficiency, 1, "share of the peak");
    key.optional("precision", machine.precision, Precision::Fp32, "of the dense part");
    key.optional("links", machine.links, {}, "to the neighbours");
    key.optional("peak", machine.peak, {}, "by precision");
    key.optional("overheads", machine.overheads, {}, "by operator");
    key.optional("cache", machine.cache, std::nullopt, "level 2");
    key.optional("nodes", machine.nodes, Nodes{"pcie", 1}, "the machine");
  }
};

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

TEST(YamlReader, ReportsEverythingThatIsWrongInTheOrderOfTheFile) {
  EXPECT_EQ(
      complaint_about("nvlnk: true\n"
                      "batch: many\n"
                      "cache: 6\n"
                      "batch: 3\n"),
      "m.yaml:1:1: missing key 'name' (identifier)\n"
      "m.yaml:1:1: unknown key 'nvlnk' - did you mean 'nvlink'?\n"
      "m.yaml:2:8: batch: 'many' is not a whole number: expected digits only, e.g. 65536\n"
      "m.yaml:3:8: cache: '6' is not a size: the unit is missing (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)\n"
      "m.yaml:4:1: key 'batch' is given twice");
}

}  // namespace
}  // namespace lockstep
