#include "ops/collectives/nccl_choice.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using namespace lockstep::literals;

/// Two nodes of 8 A100 on NVSwitches.
NcclView two_nodes(int nics, BytesPerSecond nic) {
  return {CollectiveKind::AllReduce, 1_GiB, 16, 2, true, false, nics * nic, nics, 300_GBps};
}

CommAlgorithm chosen(const NcclView& view) {
  const Seconds ring = time_by_nccl(view, CommAlgorithm::Ring, CommProtocol::Simple);
  return time_by_nccl(view, CommAlgorithm::Tree, CommProtocol::Simple) < ring ? CommAlgorithm::Tree
                                                                              : CommAlgorithm::Ring;
}

TEST(NcclChoice, ATreeOfTwoNodesGainsWhereItsChannelsAreFasterThanNics) {
  // A channel of a tree carries 23.6 GB/s at most, half of it sums: four of 12.5 GB/s give rings 50 * 8/15
  // = 26.7 GB/s and trees 46; four of 25 GB/s rings 53.3. On two p4de trees were measured, on nodes with
  // HDR rings.
  EXPECT_EQ(chosen(two_nodes(4, 12.5_GBps)), CommAlgorithm::Tree);
  EXPECT_EQ(chosen(two_nodes(4, 25_GBps)), CommAlgorithm::Ring);
}

TEST(NcclChoice, RingsHaveNcclsLatencies) {
  // Nothing to send: 30 steps, 2 of them between nodes; those inside take the post of 1 us at least, three
  // with Simple.
  NcclView view = two_nodes(8, 25_GBps);
  view.size = Bytes{0};
  EXPECT_NEAR(time_by_nccl(view, CommAlgorithm::Ring, CommProtocol::LL) / 1_us, 6.6 + 28 * 1 + 2 * 2.7, 1e-9);
  EXPECT_NEAR(time_by_nccl(view, CommAlgorithm::Ring, CommProtocol::Simple) / 1_us,
              1.4 * (8.4 + 28 * 3.4 + 2 * 14), 1e-9);
  view.has_amd_cpu = true;
  EXPECT_NEAR(time_by_nccl(view, CommAlgorithm::Ring, CommProtocol::Simple) / 1_us,
              1.4 * (8.4 + 28 * 6 + 2 * 14), 1e-9);
}

TEST(NcclChoice, TreesAreCorrectedInTheMiddle) {
  // 64 KiB is the eleventh size from 64 B: LL's factor 0.6.
  NcclView view = two_nodes(8, 25_GBps);
  view.nodes = 4;
  view.members = 32;
  view.size = 64_KiB;
  const Seconds with = time_by_nccl(view, CommAlgorithm::Tree, CommProtocol::LL);
  view.size = Bytes{0};
  const Seconds latency = time_by_nccl(view, CommAlgorithm::Tree, CommProtocol::LL);
  // 0.92 * 200 / 3.8 is more than a processor's 20.4 GB/s; 8 channels of 17.8 are 142 GB/s / 3.8
  EXPECT_NEAR((with - latency) / (64_KiB / (0.5 * 0.6 * 20.4_GBps)), 1, 1e-9);
}

}  // namespace
}  // namespace lockstep
