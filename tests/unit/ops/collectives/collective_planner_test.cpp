#include "ops/collectives/collective_planner.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <numeric>

#include "tests/support/planned_collectives.hpp"

namespace lockstep {
namespace {

using testing::all_gpus;
using namespace lockstep::literals;

CollectiveOptions fixed(CollectiveKind kind, CommAlgorithm algorithm) {
  CollectiveOptions options;
  options.algorithm[kind] = algorithm;
  return options;
}

TEST(CollectivePlanner, RingAllReduceAloneMatchesItsClosedForm) {
  // 2(n-1) (route latency) + 2(n-1)/n size / bandwidth; a route is two links of 0.25 us.
  for (const int n : {2, 3, 8, 16}) {
    const Fabric fabric = testing::switched_node(n);
    for (const Bytes size : {Bytes{4}, Bytes{1e6}, Bytes{1e9}}) {
      const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = size},
                                           fixed(CollectiveKind::AllReduce, CommAlgorithm::Ring));
      const Seconds expected = 2.0 * (n - 1) * Seconds{0.5e-6} + (2.0 * (n - 1) / n) * size / 300_GBps;
      EXPECT_NEAR(time_alone(plan, fabric) / expected, 1.0, 1e-6) << n;
    }
  }
}

TEST(CollectivePlanner, CubeMeshReachesSixRings) {
  // 8 GPUs: bus bandwidth 6 x 25 GB/s, 4 GPUs: 4 x 25 GB/s, algorithm bandwidth = bus / (2(n-1)/n).
  for (const auto& [n, bus] : {std::pair{8, 150_GBps}, std::pair{4, 100_GBps}, std::pair{2, 25_GBps}}) {
    const bool wide_as_one_link = n == 4;  // two links, or one of twice the width: the same machine
    const Fabric fabric = testing::hybrid_cube_mesh(wide_as_one_link);
    const auto gpus = all_gpus(fabric);
    const CollectivePlan plan =
        CollectivePlanner{fabric, fixed(CollectiveKind::AllReduce, CommAlgorithm::Ring)}.plan(
            {.kind = CollectiveKind::AllReduce, .size = 1_GB},
            std::span{gpus}.first(static_cast<std::size_t>(n)));
    const Seconds transfer = time_alone(plan, fabric) - plan.latency;
    EXPECT_NEAR((2.0 * (n - 1) / n) * 1_GB / transfer / bus, 1.0, 1e-9) << n;
  }
}

TEST(CollectivePlanner, RailsCarryEqualShares) {
  // 4 nodes of 4, a ring a rail: each NIC sends 1/4 of 2(n-1)/n of the buffer, n = 16.
  const Fabric fabric = testing::rail_cluster(4, 4);
  const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB},
                                       fixed(CollectiveKind::AllReduce, CommAlgorithm::Ring));
  for (int node = 0; node < 4; ++node) {
    for (int rail = 0; rail < 4; ++rail) {
      const std::string nic = fmt::format("node{}.nic{}", node, rail);
      EXPECT_NEAR(load_of(plan, fabric, nic, fmt::format("leaf{}", rail)), 30.0 / 16 / 4, 1e-12);
    }
    EXPECT_EQ(load_of(plan, fabric, "leaf0", "spine0"), 0);
  }
}

TEST(CollectivePlanner, HierarchicalAllReduceKeepsTrafficOffTheNetwork) {
  // 4 nodes of 4: rails carry 2 (3/4) / 4 of the buffer, NVLinks 2 (3/4).
  const Fabric fabric = testing::rail_cluster(4, 4);
  const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB},
                                       fixed(CollectiveKind::AllReduce, CommAlgorithm::Hierarchical));
  EXPECT_NEAR(load_of(plan, fabric, "node1.nic2", "leaf2"), 1.5 / 4, 1e-12);
  EXPECT_NEAR(load_of(plan, fabric, "node1.gpu2", "node1.nvswitch0"), 1.5, 1e-12);
}

/// The bytes that leave or enter every GPU over its links are those of its edges, whatever the algorithm.
TEST(CollectivePlanner, BytesAreConservedAtEveryGpu) {
  const Fabric fabric = testing::rail_cluster(3, 4);
  const auto gpus = all_gpus(fabric);
  for (const CommAlgorithm algorithm :
       {CommAlgorithm::Ring, CommAlgorithm::Tree, CommAlgorithm::Direct, CommAlgorithm::Hierarchical}) {
    const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB},
                                         fixed(CollectiveKind::AllReduce, algorithm));
    for (std::size_t position = 0; position < gpus.size(); ++position) {
      double on_links = 0;
      double on_edges = 0;
      for (const LinkLoad& load : plan.loads) {
        on_links += fabric.links()[load.link].from == gpus[position] ? load.share : 0;
      }
      for (const CommEdge& edge : plan.edges) {
        on_edges += edge.src == static_cast<int>(position) ? edge.share : 0;
      }
      EXPECT_NEAR(on_links, on_edges, 1e-12) << plan.algorithm << ", member " << position;
      EXPECT_GT(on_links, 0);
    }
  }
}

TEST(CollectivePlanner, TwiceTheBandwidthIsNeverSlower) {
  const Fabric narrow = testing::switched_node(8, 150_GBps);
  const Fabric wide = testing::switched_node(8, 300_GBps);
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast, CollectiveKind::Barrier}) {
    for (const Bytes size : {1_KiB, 1_MiB, 1_GiB}) {
      EXPECT_LE(time_alone(plan_all(wide, {.kind = kind, .size = size}), wide),
                time_alone(plan_all(narrow, {.kind = kind, .size = size}), narrow))
          << to_string(kind);
    }
  }
}

TEST(CollectivePlanner, UnevenAllToAllLoadsLinksByTheMatrix) {
  const Fabric fabric = testing::switched_node(3);
  CollectiveRequest request{.kind = CollectiveKind::AllToAll};
  request.bytes = {7, 300, 0, 100, 9, 0, 200, 200, 11};
  const CollectivePlan plan = plan_all(fabric, request);
  const double size = plan.size.in_base_units();
  EXPECT_NEAR(load_of(plan, fabric, "node0.gpu0", "node0.nvswitch0") * size, 300, 1e-9);
  EXPECT_NEAR(load_of(plan, fabric, "node0.nvswitch0", "node0.gpu0") * size, 300, 1e-9);
  EXPECT_NEAR(load_of(plan, fabric, "node0.gpu2", "node0.nvswitch0") * size, 400, 1e-9);
  EXPECT_NEAR(load_of(plan, fabric, "node0.nvswitch0", "node0.gpu1") * size, 500, 1e-9);
  EXPECT_EQ(load_of(plan, fabric, "node0.nvswitch0", "node0.gpu2"), 0);
  // The busiest direction decides: 500 B into GPU 1 at 300 GB/s, after one route's latency.
  EXPECT_NEAR(time_alone(plan, fabric) / (Seconds{0.5e-6} + 500_B / 300_GBps), 1.0, 1e-9);
}

TEST(CollectivePlanner, AnAllToAllOfNothingTakesItsLatency) {
  const Fabric fabric = testing::switched_node(2);
  CollectiveRequest request{.kind = CollectiveKind::AllToAll};
  request.bytes = {0, 0, 0, 0};
  const CollectivePlan plan = plan_all(fabric, request);
  EXPECT_TRUE(plan.loads.empty());
  EXPECT_EQ(time_alone(plan, fabric), plan.latency);
}

TEST(CollectivePlanner, EvenAllToAllEqualsTheMatrixWithEqualEntries) {
  const Fabric fabric = testing::hybrid_cube_mesh();
  CollectiveRequest even{.kind = CollectiveKind::AllToAll, .size = 8_MB};
  CollectiveRequest uneven{.kind = CollectiveKind::AllToAll};
  uneven.bytes.assign(64, 1e6);
  EXPECT_NEAR(time_alone(plan_all(fabric, even), fabric) / time_alone(plan_all(fabric, uneven), fabric), 1.0,
              1e-12);
}

TEST(CollectivePlanner, BarrierIsAnAllReduceOfFourBytes) {
  const Fabric fabric = testing::switched_node(8);
  const CollectivePlan barrier = plan_all(fabric, {.kind = CollectiveKind::Barrier});
  EXPECT_EQ(barrier.size, 4_B);
  EXPECT_EQ(time_alone(barrier, fabric),
            time_alone(plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 4_B}), fabric));
}

TEST(CollectivePlanner, SendUsesTheRouteOfItsTwoEnds) {
  const Fabric fabric = testing::rail_cluster(2, 2);
  CollectiveRequest request{.kind = CollectiveKind::Send, .size = 1_GB};
  request.source = 1;
  request.root = 3;
  const CollectivePlan plan = plan_all(fabric, request);
  EXPECT_NEAR(load_of(plan, fabric, "node0.nic1", "leaf1"), 1.0, 1e-12);
  // gpu - nic - leaf - nic - gpu: 0.5 + 1 + 1 + 0.5 us, then 1 GB at 25 GB/s.
  EXPECT_NEAR(time_alone(plan, fabric) / (Seconds{3e-6} + 1_GB / 25_GBps), 1.0, 1e-9);
}

/// 300 GB/s of NVLink, channels of 20: four of them on 8 members, 16 between two that have a communicator.
TEST(CollectivePlanner, AMessageIsHeldToItsChannels) {
  const Fabric fabric = testing::switched_node(8);
  CollectiveOptions options;
  options.profile = ideal_collective_profile();
  options.profile.messages = MessageCosts{.channels = 32, .channel_bandwidth = 20_GBps};
  const CollectivePlanner planner{fabric, options};
  const auto plan = [&](const MessageCarrier& carrier) {
    const CollectiveRequest request{
        .kind = CollectiveKind::Send, .size = Bytes{3e7}, .root = 1, .source = 0, .carrier = carrier};
    return planner.plan(request, fabric.gpus().first(2));
  };
  EXPECT_EQ(plan({8, false}).channels, 4);
  EXPECT_NEAR(time_alone(plan({8, false}), fabric) / (Bytes{3e7} / 80_GBps), 1, 2e-3);
  EXPECT_NEAR(time_alone(plan({}), fabric) / (Bytes{3e7} / 300_GBps), 1, 0.01);
}

TEST(CollectivePlanner, MessagesBetweenNodesChangeRailsOverNvlink) {
  // 3 nodes of 4. NCCL relays over the GPU on the receiver's rail, so nothing crosses the spine; direct does.
  const Fabric fabric = testing::rail_cluster(3, 4);
  const CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 12_MB};
  const CollectivePlan relayed = plan_all(fabric, request);
  EXPECT_EQ(relayed.algorithm, "pxn");
  EXPECT_EQ(load_of(relayed, fabric, "leaf0", "spine0"), 0);
  EXPECT_NEAR(load_of(relayed, fabric, "node0.nic1", "leaf1"), 2 * 4.0 / 12, 1e-12);
  EXPECT_NEAR(load_of(relayed, fabric, "node0.gpu1", "node0.nvswitch0"), 3 * 3.0 / 12, 1e-12);
  const CollectivePlan straight =
      plan_all(fabric, request, fixed(CollectiveKind::AllToAll, CommAlgorithm::Direct));
  EXPECT_EQ(straight.algorithm, "direct");
  EXPECT_GT(load_of(straight, fabric, "leaf0", "spine0"), 0);
  // One step over NVLink (0.5 us), one over the rail (3 us).
  EXPECT_NEAR(relayed.latency / Seconds{3.5e-6}, 1, 1e-9);

  CollectiveRequest message{.kind = CollectiveKind::Send, .size = 1_GB};
  message.source = 1;
  message.root = 7;
  const CollectivePlan sent = plan_all(fabric, message);
  EXPECT_NEAR(load_of(sent, fabric, "node0.gpu1", "node0.nvswitch0"), 1, 1e-12);
  EXPECT_NEAR(load_of(sent, fabric, "node0.nic3", "leaf3"), 1, 1e-12);
  EXPECT_EQ(load_of(sent, fabric, "node0.nic1", "leaf1"), 0);
}

TEST(CollectivePlanner, OneGpuANodeGathersInLogarithmicSteps) {
  // NCCL 2.23: 8 us + 4 us a level + 2.8 us a rank, here without routes; a ring has 15 steps of 14 us.
  const Fabric fabric = testing::rail_cluster(16, 1);
  CollectiveOptions options;
  options.profile.ring.simple = ProtocolCosts{.base = 8_us, .nvlink = {}, .pcie = {}, .network = 14_us};
  options.profile.pat.simple =
      ProtocolCosts{.base = 8_us, .nvlink = 2.8_us, .pcie = {}, .network = 4_us, .line_fraction = 0.75};
  const auto plan = [&](CollectiveKind kind, Bytes size) {
    return plan_all(fabric, {.kind = kind, .size = size}, options);
  };
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    EXPECT_EQ(plan(kind, 16_KiB).algorithm, "pat");
    EXPECT_NEAR(plan(kind, 16_KiB).latency / (8_us + 4 * 4_us + 16 * 2.8_us), 1, 1e-9);
    EXPECT_EQ(plan(kind, 1_GiB).algorithm, "ring");
  }
  EXPECT_EQ(
      plan_all(testing::rail_cluster(8, 2), {.kind = CollectiveKind::AllGather, .size = 16_KiB}, options)
          .algorithm,
      "ring");
}

TEST(CollectivePlanner, ASingleMemberWaitsForNobody) {
  const Fabric fabric = testing::switched_node(2);
  const auto gpus = all_gpus(fabric);
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllToAll, CollectiveKind::Broadcast}) {
    const CollectivePlan plan =
        CollectivePlanner{fabric}.plan({.kind = kind, .size = 1_GB}, std::span{gpus}.first(1));
    EXPECT_EQ(time_alone(plan, fabric), Seconds{0}) << to_string(kind);
  }
}

TEST(CollectivePlanner, ProtocolsCostWhatTheProfileSays) {
  // LL: 2 bytes on the wire for each of payload; a quarter of what the links would allow; at most 10 GB/s a
  // GPU.
  const Fabric fabric = testing::switched_node(2);
  CollectiveOptions options;
  options.profile.ring.ll =
      ProtocolCosts{.base = 3_us, .nvlink = 1_us, .pcie = {}, .network = {}, .wire_bytes = 2};
  options.profile.link_efficiency.nvlink = 0.8;
  options.protocol = CommProtocol::LL;
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 1_GB};
  CollectivePlan plan = plan_all(fabric, request, options);
  EXPECT_EQ(plan.protocol, "LL");
  EXPECT_NEAR(plan.latency / 5_us, 1, 1e-12);  // base + 2 steps of max(1 us, 0.5 us)
  EXPECT_NEAR(load_of(plan, fabric, "node0.gpu0", "node0.nvswitch0"), 2 / 0.8, 1e-12);
  options.profile.ring.ll->line_fraction = 0.25;
  plan = plan_all(fabric, request, options);
  EXPECT_NEAR(plan.rate_cap / (0.25 * 300_GBps / 2.5), 1, 1e-12);
  options.profile.ring.ll->max_bus_bandwidth = 10_GBps;
  EXPECT_NEAR(plan_all(fabric, request, options).rate_cap / 10_GBps, 1,
              1e-12);  // n = 2: bus = algorithm bandwidth
}

TEST(CollectivePlanner, ChoosesLowLatencyForSmallAndTreesForManyNodes) {
  const Fabric fabric = testing::rail_cluster(8, 4);
  CollectiveOptions options;
  options.profile.ring.ll =
      ProtocolCosts{.base = {}, .nvlink = 1_us, .pcie = 1_us, .network = 3_us, .wire_bytes = 2};
  options.profile.ring.simple = ProtocolCosts{.base = {}, .nvlink = 4_us, .pcie = 4_us, .network = 10_us};
  options.profile.tree = options.profile.ring;
  const auto plan = [&](Bytes size) {
    return plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = size}, options);
  };
  // Ring: 2 * 31 steps. Tree: 2 * 3 inside and 2 * 3 between.
  EXPECT_EQ(plan(1_KiB).algorithm, "tree");
  EXPECT_EQ(plan(1_KiB).protocol, "LL");
  EXPECT_EQ(plan(1_GiB).protocol, "Simple");
}

TEST(CollectivePlanner, SaysWhyItRefuses) {
  const Fabric fabric = testing::switched_node(2);
  const auto message = [&](const CollectiveRequest& request, CollectiveOptions options = {}) -> std::string {
    try {
      (void)plan_all(fabric, request, std::move(options));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  CollectiveRequest request{.kind = CollectiveKind::Broadcast, .size = 1_MB};
  request.root = 2;
  EXPECT_EQ(message(request), "broadcast: root 2 is not a position in a group of 2");
  EXPECT_EQ(message({.kind = CollectiveKind::Send, .size = 1_MB}),
            "send: sender and receiver are the same member");
  EXPECT_EQ(message({.kind = CollectiveKind::AllReduce, .size = Bytes{-1}}),
            "all_reduce: the size is negative");
  CollectiveRequest uneven{.kind = CollectiveKind::AllToAll};
  uneven.bytes = {1, 2, 3};
  EXPECT_EQ(message(uneven), "all_to_all: 3 byte counts for a group of 2, which needs 4");
  EXPECT_EQ(message({.kind = CollectiveKind::AllToAll, .size = 1_MB},
                    fixed(CollectiveKind::AllToAll, CommAlgorithm::Tree)),
            "all_to_all: trees serve all-reduce only");
  CollectiveOptions ll;
  ll.protocol = CommProtocol::LL;
  EXPECT_EQ(message({.kind = CollectiveKind::AllReduce, .size = 1_MB}, ll),
            "all_reduce: profile 'ideal' has no costs for the algorithm and protocol asked for");
}

TEST(CollectivePlanner, DoesNotWriteOutAMillionPairs) {
  const Fabric fabric = testing::rail_cluster(129, 8);  // 1032 GPUs
  const CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 1_MB};
  for (const CollectivePlan& plan :
       {plan_all(fabric, request),
        plan_all(fabric, request, fixed(CollectiveKind::AllToAll, CommAlgorithm::Hierarchical))}) {
    // Each rail carries (k-1)/k of what a member sends, and nothing crosses the spine.
    EXPECT_NEAR(load_of(plan, fabric, "node7.nic3", "leaf3"), 128.0 / 129, 1e-9);
    EXPECT_EQ(load_of(plan, fabric, "leaf3", "spine0"), 0);
    EXPECT_LT(plan.edges.size(), 200'000U);
  }
  EXPECT_THROW((void)plan_all(fabric, {.kind = CollectiveKind::AllGather, .size = 1_MB},
                              fixed(CollectiveKind::AllGather, CommAlgorithm::Direct)),
               std::invalid_argument);
}

TEST(CollectivePlanner, PlansAreTheSameHoweverOftenAsked) {
  const Fabric fabric = testing::rail_cluster(2, 4);
  const auto gpus = all_gpus(fabric);
  const CollectivePlanner planner{fabric};
  const auto ask = [&](Bytes size) {
    return planner.plan({.kind = CollectiveKind::AllReduce, .size = size}, gpus);
  };
  const CollectivePlan first = ask(1_MB);
  (void)ask(2_MB);
  const CollectivePlan again = ask(1_MB);
  EXPECT_EQ(time_alone(first, fabric), time_alone(again, fabric));
  ASSERT_EQ(first.loads.size(), again.loads.size());
}

}  // namespace
}  // namespace lockstep
