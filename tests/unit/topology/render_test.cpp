#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/topology/machines.hpp"
#include "topology/cables.hpp"
#include "topology/gpu_pairs.hpp"
#include "topology/layout.hpp"
#include "topology/render_dot.hpp"
#include "topology/render_svg.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

TEST(Cables, PutEqualOppositeLinksTogether) {
  Drawing drawing;
  drawing.add(gpu(0, 0));
  drawing.add(gpu(0, 1));
  drawing.connect(0, 1, kNvLink);
  drawing.connect(0, 1, kNvLink);
  drawing.connect_one_way(0, 1, kPcie);
  const auto cables = cables_of(build(drawing));
  ASSERT_EQ(cables.size(), 3U);
  EXPECT_TRUE(cables[0].both_ways);
  EXPECT_TRUE(cables[1].both_ways);
  EXPECT_FALSE(cables[2].both_ways);
}

TEST(Layout, KeepsThingsApartAndInTheirFrames) {
  const Fabric fabric = build(rail_cluster(4, 2));
  const Layout layout = lay_out(fabric);
  ASSERT_EQ(layout.frames.size(), 4U);
  for (VertexId a = 0; a < fabric.vertices().size(); ++a) {
    ASSERT_TRUE(layout.centres[a]) << fabric.vertices()[a].name;
    if (const int node = fabric.vertices()[a].node; node >= 0) {
      const Frame& frame = layout.frames[static_cast<std::size_t>(node)];
      EXPECT_GT(layout.centres[a]->x, frame.corner.x);
      EXPECT_LT(layout.centres[a]->x, frame.corner.x + frame.width);
      EXPECT_GT(layout.centres[a]->y, frame.corner.y);
      EXPECT_LT(layout.centres[a]->y, frame.corner.y + frame.height);
    }
    for (VertexId b = 0; b < a; ++b) {  // boxes are at most 92 wide (one a row), mostly 44, and 26 high
      const double dx = std::abs(layout.centres[a]->x - layout.centres[b]->x);
      const double dy = std::abs(layout.centres[a]->y - layout.centres[b]->y);
      EXPECT_TRUE(dx > 44 || dy > 26) << fabric.vertices()[a].name << " covers " << fabric.vertices()[b].name;
    }
  }
}

TEST(Layout, LeavesOutWhatIsTooMuch) {
  const Fabric fabric = build(rail_cluster(5, 1));
  const Layout layout = lay_out(fabric, 2);
  EXPECT_EQ(layout.nodes_left_out, 3);
  EXPECT_FALSE(layout.centres[find(fabric, "node2.gpu0")]);
  const std::string svg = to_svg(build(rail_cluster(9, 1)));
  EXPECT_THAT(svg, HasSubstr("and 7 more nodes"));
  EXPECT_THAT(svg, HasSubstr(">node 1, and 7 more like it<"));
}

TEST(Picture, ColoursLinksByTheirUse) {
  const Fabric fabric = build(rail_cluster(1, 1));
  MachineDrawing drawing;
  drawing.used.resize(fabric.links().size());
  EXPECT_THAT(to_svg(fabric, drawing), HasSubstr(R"(stroke="#c4cad0")"));
  drawing.used.back() = 0.5;
  const std::string svg = to_svg(fabric, drawing);
  EXPECT_THAT(svg, HasSubstr(", used 50.0 %"));
  EXPECT_THAT(svg, HasSubstr(R"(stroke="#8f3b00")"));
}

TEST(Svg, ShowsEveryDeviceAndLinkOnce) {
  const Fabric fabric = build(rail_cluster(1, 0));
  const std::string svg = to_svg(fabric);
  EXPECT_EQ(occurrences(svg, "<g><title>"), fabric.vertices().size());
  EXPECT_EQ(occurrences(svg, "</title></path>"), fabric.links().size() / 2);
  EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}

TEST(Svg, EscapesNames) {
  Drawing drawing;
  drawing.add({VertexKind::Gpu, 0, 0, "a<&>b", "m"});
  const std::string svg = to_svg(build(drawing));
  EXPECT_THAT(svg, HasSubstr("a&lt;&amp;&gt;b"));
  EXPECT_THAT(svg, Not(HasSubstr("a<&")));
}

TEST(Dot, HasAVertexALineAndACableALine) {
  const Fabric fabric = build(rail_cluster(2, 1));
  const std::string dot = to_dot(fabric);
  EXPECT_EQ(occurrences(dot, "[label="), fabric.vertices().size() + fabric.links().size() / 2);
  EXPECT_THAT(dot, HasSubstr("node1.gpu7\\ntest_gpu"));
  EXPECT_EQ(occurrences(dot, "dir=both"), fabric.links().size() / 2);
}

// 2 nodes of 2 GPUs with NVSwitch: each GPU has 1 partner in its node, 2 in the other: one on its rail (same
// leaf), one that listens at the other rail's NIC.
TEST(GpuPairs, CountsRoutesByKind) {
  const Fabric fabric = build(rail_cluster(2, 1, 1024, {.gpus = 2, .nics = 2, .pcie_switches = 1}));
  const PairSummary summary = gpu_pair_classes(fabric);
  EXPECT_EQ(summary.sources, 4U);
  ASSERT_EQ(summary.classes.size(), 3U);
  EXPECT_EQ(summary.classes[0].kinds, "gpu nvswitch gpu");
  EXPECT_EQ(summary.classes[0].pairs, 4);
  EXPECT_EQ(summary.classes[1].kinds, "gpu pcie_switch nic leaf nic pcie_switch gpu");
  EXPECT_EQ(summary.classes[1].pairs, 4);
  EXPECT_EQ(summary.classes[2].kinds, "gpu pcie_switch nic leaf spine leaf nic pcie_switch gpu");
  EXPECT_EQ(summary.classes[2].pairs, 4);
}

TEST(GpuPairs, LooksAtSomeSourcesOfALargeMachine) {
  const Fabric fabric = build(rail_cluster(16, 1));
  const PairSummary summary = gpu_pair_classes(fabric, 12);
  EXPECT_EQ(summary.sources, 12U);
  std::int64_t pairs = 0;
  for (const PairClass& one : summary.classes) {
    pairs += one.pairs;
  }
  EXPECT_EQ(pairs, 12 * 127);
}

}  // namespace
}  // namespace lockstep
