#include "topology/degrade.hpp"

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

const Link& link(const Fabric& fabric, const std::string& name) {
  return *find_link(fabric, name);
}

TEST(LinkFault, SlowsTheLinksItNamesAndNoOthers) {
  const Fabric sound = build(rail_cluster(2, 1));
  const std::vector<LinkFault> faults{{"node0.nic3->leaf3", 0.5, 2_us}, {"*->node1.nic3", 0.25, 0_s}};
  const Fabric slow = with_faults(sound, faults);
  EXPECT_EQ(link(slow, "node0.nic3->leaf3").bandwidth, 12.5_GBps);
  EXPECT_DOUBLE_EQ(link(slow, "node0.nic3->leaf3").latency / 1_us, 3);
  EXPECT_EQ(link(slow, "leaf3->node1.nic3").bandwidth, 6.25_GBps);
  EXPECT_EQ(link(slow, "node1.pcie_switch1->node1.nic3").bandwidth, 4_GBps);
  EXPECT_EQ(link(slow, "leaf3->node0.nic3").bandwidth, 25_GBps);
}

TEST(LinkFault, FaultsOfOneLinkMultiply) {
  const Fabric slow = with_faults(build(rail_cluster(1, 0)),
                                  std::vector<LinkFault>{{"*gpu0->*nvswitch0", 0.5, {}}, {"*", 0.5, {}}});
  EXPECT_EQ(link(slow, "node0.gpu0->node0.nvswitch0").bandwidth, 12.5_GBps);
  EXPECT_EQ(link(slow, "node0.nvswitch0->node0.gpu0").bandwidth, 25_GBps);
}

TEST(LinkFault, MustNameALinkAndLeaveSomething) {
  const Fabric sound = build(rail_cluster(1, 0));
  EXPECT_THAT(
      [&] {
        (void)with_faults(sound, std::vector<LinkFault>{{"node0.nvlink*", 0.5, {}}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("nothing is called 'node0.nvlink*'")));
  EXPECT_THAT(
      [&] {
        (void)with_faults(sound, std::vector<LinkFault>{{"*", 0, {}}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("greater than 0")));
}

}  // namespace
}  // namespace lockstep
