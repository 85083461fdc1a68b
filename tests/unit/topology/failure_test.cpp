#include "topology/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/drawn_cluster.hpp"
#include "tests/unit/topology/machines.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Names = std::vector<std::string>;

bool has_link(const Fabric& fabric, std::string_view name) {
  return find_link(fabric, std::string{name}) != nullptr;
}

// GPU 3 of a node uses NIC 3, on its rail and its PCIe switch, which holds NIC 2 as well.
TEST(Failure, TrafficLeavesThroughTheNextNic) {
  const Fabric sound = build(rail_cluster(2, 1));
  ASSERT_THAT(path(sound, "node0.gpu3", "node1.gpu3"), HasSubstr("node0.nic3 leaf3 node1.nic3"));
  const Fabric broken = without_failed(sound, Names{"node0.nic3"});
  const std::string now = path(broken, "node0.gpu3", "node1.gpu3");
  EXPECT_THAT(now, HasSubstr("node0.nic2 leaf2"));
  EXPECT_THAT(path(broken, "node1.gpu3", "node0.gpu3"), HasSubstr("node0.nic2"));
  EXPECT_EQ(path(broken, "node0.gpu1", "node1.gpu1"), path(sound, "node0.gpu1", "node1.gpu1"));
  EXPECT_EQ(broken.gpus().size(), sound.gpus().size());
  EXPECT_FALSE(has_link(broken, "node0.pcie_switch1->node0.nic3"));
}

TEST(Failure, ALinkFailsInBothDirections) {
  const Fabric sound = build(rail_cluster(2, 2));
  const Fabric broken = without_failed(sound, Names{"leaf0->spine1"});
  EXPECT_FALSE(has_link(broken, "leaf0->spine1"));
  EXPECT_FALSE(has_link(broken, "spine1->leaf0"));
  EXPECT_TRUE(has_link(broken, "leaf0->spine0"));
  EXPECT_EQ(broken.links().size(), sound.links().size() - 2);
}

Fabric two_links_side_by_side() {
  Drawing drawing;
  const VertexId a = drawing.add(gpu(-1, 0));
  const VertexId b = drawing.add(gpu(-1, 1));
  drawing.connect(a, b, kNvLink);
  drawing.connect(a, b, kNvLink);
  return build(drawing);
}

TEST(Failure, OfLinksSideBySideOneFails) {
  const Fabric broken = without_failed(two_links_side_by_side(), Names{"gpu0->gpu1#2"});
  ASSERT_EQ(broken.links().size(), 2U);
  EXPECT_TRUE(has_link(broken, "gpu0->gpu1"));
  EXPECT_TRUE(has_link(broken, "gpu1->gpu0"));
}

TEST(Failure, LinksKeepTheNamesThatTheyHad) {
  const Fabric broken = without_failed(two_links_side_by_side(), Names{"gpu0->gpu1"});
  EXPECT_FALSE(has_link(broken, "gpu0->gpu1"));
  EXPECT_TRUE(has_link(broken, "gpu0->gpu1#2"));
}

TEST(Failure, PatternsNameManyAndLeaveOtherKindsAlone) {
  const Fabric sound = build(rail_cluster(2, 1));
  const Fabric broken = without_failed(sound, Names{"node0.nic0..6", "spine*"});
  EXPECT_THAT(path(broken, "node0.gpu0", "node1.gpu0"), HasSubstr("node0.nic7"));
}

TEST(Failure, AMachineThatFallsApartIsRejected) {
  const Fabric sound = build(rail_cluster(2, 1));
  EXPECT_THAT([&] { (void)without_failed(sound, Names{"node0.nic*"}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr(
                  "without what has failed the machine falls apart: no route from GPU 'node0.gpu0'")));
  // Within one node GPUs still reach each other over NVLink.
  const Fabric node = build(rail_cluster(1, 0));
  EXPECT_THAT([&] { (void)without_failed(node, Names{"node0.gpu0->node0.pcie_switch0"}); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("GPU 'node0.gpu0' has no way to the memory of its host")));
}

TEST(Failure, OnlyWhatIsThereCanFailAndNoGpu) {
  const Fabric sound = build(rail_cluster(2, 1));
  EXPECT_THAT([&] { (void)without_failed(sound, Names{"node0.nic8"}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("nothing is called 'node0.nic8'")));
  EXPECT_THAT([&] { (void)without_failed(sound, Names{"node1.gpu2"}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("'node1.gpu2' names GPU 'node1.gpu2'")));
}

}  // namespace
}  // namespace lockstep
