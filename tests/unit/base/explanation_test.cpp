#include "base/explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/base/machine_fixture.hpp"

namespace lockstep {
namespace {

const ParameterType& machine() {
  static const ParameterType type = type_of<test::MachineSpec>();
  return type;
}

TEST(Explanation, TellsTypeUnitDefaultAndMeaning) {
  EXPECT_EQ(explain(machine(), "latency"),
            "links[].latency\n"
            "  of the first byte\n"
            "  type: a time (s, ms, us, ns, min, h)\n"
            "  default 1 us\n");
  EXPECT_EQ(explain(machine(), "links.latency"), explain(machine(), "latency"));
  EXPECT_EQ(explain(machine(), "precision"),
            "precision\n"
            "  of the dense part\n"
            "  type: one of: fp32, bf16\n"
            "  default fp32\n");
}

TEST(Explanation, ShowsWhatIsInsideAMapping) {
  EXPECT_EQ(explain(machine(), "gpu"),
            "gpu\n"
            "  in every slot\n"
            "  type: a name of configs/gpus, a file or a mapping\n"
            "  default {name: T4, memory: 16 GB}\n"
            "  gpu.name                                 required                 identifier\n"
            "  gpu.memory                               required                 on the device\n");
}

TEST(Explanation, ShowsAllThatShareAName) {
  const std::string text = explain(machine(), "name").value();
  EXPECT_NE(text.find("name\n  identifier"), std::string::npos);
  EXPECT_NE(text.find("\ngpu.name\n"), std::string::npos);
}

TEST(Explanation, KnowsItsKeys) {
  EXPECT_EQ(explain(machine(), "latncy"), std::nullopt);
  const std::vector<std::string> known = known_keys(machine());
  for (const char* key : {"latency", "links", "links.latency", "gpu.memory"}) {
    EXPECT_NE(std::find(known.begin(), known.end(), key), known.end()) << key;
    EXPECT_NE(explain(machine(), key), std::nullopt) << key;
  }
}

TEST(Explanation, FindsAWordInPathTypeAndMeaning) {
  const auto lines_about = [](const std::string& word) {
    const std::string text = explain_word(machine(), word);
    std::size_t lines = 0;
    for (const char c : text) lines += c == '\n' ? 1 : 0;
    return lines;
  };
  EXPECT_EQ(lines_about("NODES"), lines_about("nodes"));
  EXPECT_GE(lines_about("nodes"), 3U);  // nodes, nodes.preset, nodes.count
  EXPECT_EQ(explain_word(machine(), "xyzzy"), "");
}

TEST(Explanation, ListsEveryParameterOnce) {
  std::vector<std::string> paths;
  for (const PlacedParameter& placed : all_parameters(machine())) {
    paths.push_back(placed.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"name", "nvlink", "batch", "efficiency", "precision", "links",
                                             "links[].bandwidth", "links[].latency", "peak", "overheads",
                                             "cache", "nodes", "nodes.preset", "nodes.count", "gpu",
                                             "gpu.name", "gpu.memory"}));
  const std::string text = explain_all(machine());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 17);
}

}  // namespace
}  // namespace lockstep
