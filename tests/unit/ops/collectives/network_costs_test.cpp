/// @file
/// Collectives between nodes: what NCCL's transport adds to the links.

#include "ops/collectives/network_costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/collectives/plan_costs.hpp"
#include "tests/support/planned_collectives.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

/// Costs of one protocol, and a network that costs nothing besides but for what a test sets.
CollectiveOptions options_with(const NetworkFabric& network) {
  CollectiveOptions options;
  options.profile.ring.simple = ProtocolCosts{.base = 3_us, .nvlink = 1_us, .pcie = 1_us, .network = 10_us};
  options.profile.between_nodes = network;
  options.algorithm[CollectiveKind::AllReduce] = CommAlgorithm::Ring;
  return options;
}

NetworkFabric network_of_tests() {
  NetworkFabric network;
  network.ring_slowdown = 2;
  network.post = 0.5_us;
  network.message = Seconds{0};
  network.channel_rate = std::nullopt;
  network.latency.simple = 4_us;
  return network;
}

double together(Seconds a, Seconds b) {
  return std::cbrt(std::pow(a.in_base_units(), 3) + std::pow(b.in_base_units(), 3));
}

TEST(NetworkCosts, StepsOfARingOverlapWithItsLinks) {
  // 2 nodes of 4: 14 steps, 4 of them between nodes: 10 + 4 us, 10 inside: 1.5 us, three times the post. All
  // twice as long, base included: 2 (3 + 4 * 14 + 10 * 1.5) = 148 us. Of what the links take a chunk waits
  // for 4 of 14 steps, in messages of half of it.
  const Fabric fabric = testing::rail_cluster(2, 4);
  for (const Bytes size : {64_KiB, 1_MiB, 16_MiB}) {  // less than a loop: 8 members * 8 channels * 2 MiB
    const CollectivePlan plan =
        plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = size}, options_with(network_of_tests()));
    const Seconds links = size / rate_of_links(plan, fabric);
    const Seconds steps = 148_us + 4.0 / 14 / 2 * links;
    EXPECT_NEAR(time_alone(plan, fabric).in_base_units() / together(steps, links), 1, 1e-9);
  }
}

TEST(NetworkCosts, AMessageBeyondEagerShakesHands) {
  // 64 KiB: two channels, of which a NIC has less than one; chunks of 4 KiB in two messages, each sent and
  // received: 4 handshakes a step, 4 steps, twice as long: 32 more.
  NetworkFabric network = network_of_tests();
  const Fabric fabric = testing::rail_cluster(2, 4);
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 64_KiB};
  network.handshake = 5_us;
  network.eager = 4_KiB;
  const Seconds eager = time_alone(plan_all(fabric, request, options_with(network)), fabric);
  network.eager = 4095_B;
  const CollectivePlan plan = plan_all(fabric, request, options_with(network));
  const Seconds links = request.size / rate_of_links(plan, fabric);
  EXPECT_NEAR(time_alone(plan, fabric).in_base_units() / together(148_us + 160_us + 1.0 / 7 * links, links),
              1, 1e-9);
  EXPECT_GT(time_alone(plan, fabric), eager);
}

TEST(NetworkCosts, AnAllToAllCostsAMessageForEveryPeerBetweenNodes) {
  // k nodes of 4: 4 (k - 1) peers.
  NetworkFabric network = network_of_tests();
  network.message = 2_us;
  for (const int nodes : {2, 8}) {
    const Fabric fabric = testing::rail_cluster(nodes, 4);
    CollectiveOptions options = options_with(network);
    const CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 1_KiB};
    const Seconds with = time_alone(plan_all(fabric, request, options), fabric);
    options.profile.between_nodes->message = Seconds{0};
    const Seconds without = time_alone(plan_all(fabric, request, options), fabric);
    EXPECT_NEAR((with - without) / (4.0 * (nodes - 1) * 2_us), 1, 0.05) << nodes;
  }
}

TEST(NetworkCosts, AMessageGoesByTwoChannels) {
  NetworkFabric network = network_of_tests();
  network.channel_rate = 3_GBps;
  const Fabric fabric = testing::rail_cluster(2, 4);
  const auto gpus = testing::all_gpus(fabric);
  const CollectivePlan plan = CollectivePlanner{fabric, options_with(network)}.plan(
      {.kind = CollectiveKind::Send, .size = 1_GB, .root = 4, .source = 0}, gpus);
  EXPECT_NEAR(1_GB / (time_alone(plan, fabric) - plan.latency) / 6_GBps, 1, 1e-9);
  EXPECT_EQ(plan.channels, 2);
}

TEST(NetworkCosts, ATreePassesOnWholeChunks) {
  // 2 nodes, 8 channels of 512 KiB: 4 MiB, two steps between nodes. 16 MiB: half of the time on the links
  // more.
  CollectiveOptions options = options_with(network_of_tests());
  options.algorithm[CollectiveKind::AllReduce] = CommAlgorithm::Tree;
  const Fabric fabric = testing::rail_cluster(2, 4);
  for (const auto& [size, part] : {std::pair{16_MiB, 0.5}, std::pair{2_MiB, 2.0}}) {
    const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = size}, options);
    const Seconds links = size / rate_of_links(plan, fabric);
    // the tree of the ideal profile: routes of two links, and what the network adds; 6 steps inside of 0.5 us
    const CollectivePlan empty =
        plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = Bytes{0}}, options);
    EXPECT_NEAR((plan.latency - empty.latency) / (part * links), 1, 1e-6);
  }
}

TEST(NetworkCosts, LlIsAsFastAsAProxyFindsItsFlags) {
  CollectiveOptions options = options_with(network_of_tests());
  options.profile.ring.ll = options.profile.ring.simple;
  options.protocol = CommProtocol::LL;
  const CollectivePlan plan =
      plan_all(testing::rail_cluster(2, 4), {.kind = CollectiveKind::AllReduce, .size = 1_MiB}, options);
  EXPECT_NEAR(plan.rate_cap / (BytesPerSecond{1.2e9} / (14.0 / 8 / 4)), 1, 1e-9);
}

TEST(NetworkCosts, AProxyThatCopiesSetsTheRate) {
  // A ring of 8 by 4 rails: a GPU at a NIC sends 14/8 of a quarter of the buffer to the other node.
  NetworkFabric network = network_of_tests();
  network.proxy_rate = 1_GBps;
  const Fabric fabric = testing::rail_cluster(2, 4);
  const CollectivePlan plan =
      plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB}, options_with(network));
  EXPECT_NEAR(plan.rate_cap / (1_GBps / (14.0 / 8 / 4)), 1, 1e-9);
}

TEST(NetworkCosts, AnEnvironmentLeavesProtocolsAndAlgorithmsOut) {
  CollectiveOptions options;
  options.profile.ring.ll = ProtocolCosts{.base = {}, .nvlink = {}, .pcie = {}, .network = {}};
  options.profile.ring.simple = ProtocolCosts{.base = 1_ms, .nvlink = {}, .pcie = {}, .network = {}};
  options.profile.tree.ll = options.profile.ring.ll;
  options.profile.between_nodes = network_of_tests();
  const Fabric fabric = testing::rail_cluster(4, 4);
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 1_KiB};
  EXPECT_EQ(plan_all(fabric, request, options).protocol, "LL");
  options.profile.between_nodes->protocols = {"Simple"};
  EXPECT_EQ(plan_all(fabric, request, options).protocol, "Simple");
  EXPECT_EQ(plan_all(fabric, request, options).algorithm, "tree");  // without a base
  options.profile.between_nodes->algorithms = {"ring"};
  EXPECT_EQ(plan_all(fabric, request, options).algorithm, "ring");
}

TEST(NetworkCosts, InsideANodeNothingIsCharged) {
  const Fabric fabric = testing::switched_node(8);
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 1_MiB};
  NetworkFabric slow = network_of_tests();
  slow.latency.simple = 1_ms;
  EXPECT_EQ(time_alone(plan_all(fabric, request, options_with(slow)), fabric),
            time_alone(plan_all(fabric, request, options_with(network_of_tests())), fabric));
}

TEST(NetworkCosts, AnUnknownNetworkHasTheWidestBand) {
  const auto band = [](const std::string& fabric) {
    const Fabric machine = read_cluster(fabric).fabric();
    CollectiveOptions options;
    options.profile.between_nodes = std::nullopt;
    return plan_all(machine, {.kind = CollectiveKind::AllReduce, .size = 1_MiB}, options).band;
  };
  const double unknown = band("dgx_h100 x 2");
  for (const std::string known : {"h100_10_nodes", "polaris", "two_p4de"}) {
    EXPECT_LT(band(known), unknown) << known;
  }
}

}  // namespace
}  // namespace lockstep
