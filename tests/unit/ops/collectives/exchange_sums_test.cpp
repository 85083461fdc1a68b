#include "ops/collectives/exchange_sums.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "ops/collectives/direct.hpp"
#include "tests/support/planned_collectives.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

struct SumsOfMembers {
  std::vector<double> near_out, near_in, far_out, far_in;

  explicit SumsOfMembers(std::size_t members)
      : near_out(members), near_in(members), far_out(members), far_in(members) {}
  void add(const GroupLayout& layout, std::size_t src, std::size_t dst, double share) {
    const bool is_near = layout.node_of[src] == layout.node_of[dst];
    (is_near ? near_out : far_out)[src] += share;
    (is_near ? near_in : far_in)[dst] += share;
  }
};

CollectiveRequest uneven(int members) {
  CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = {}};
  const Random random{7, "uneven"};
  double sum = 0;
  for (std::uint64_t pair = 0; pair < static_cast<std::uint64_t>(members * members); ++pair) {
    const double bytes = random.uniform(2 * pair) < 0.2 ? 0 : 1000 * random.uniform(2 * pair + 1);
    request.bytes.push_back(bytes);
    sum += bytes;
  }
  request.size = Bytes{sum / members};
  return request;
}

void expect_same(const std::vector<double>& sums, const std::vector<double>& expected) {
  for (std::size_t member = 0; member < expected.size(); ++member) {
    ASSERT_NEAR(sums[member], expected[member], 1e-9) << member;
  }
}

TEST(ExchangeSums, EveryMemberSendsAndReceivesWhatItsPairsDo) {
  for (const CollectiveRequest& request :
       {CollectiveRequest{.kind = CollectiveKind::AllToAll, .size = 1_MiB}, uneven(40)}) {
    const GroupLayout layout = uniform_layout(40, 8);
    SumsOfMembers pairs{40}, sums{40};
    for (int src = 0; src < 40; ++src) {
      for (int dst = 0; dst < 40; ++dst) {
        if (src != dst) {
          pairs.add(layout, static_cast<std::size_t>(src), static_cast<std::size_t>(dst),
                    pair_share(request, 40, src, dst));
        }
      }
    }
    for (const ChannelEdge& edge : exchange_by_sums(request, layout, /*relayed=*/false)) {
      sums.add(layout, static_cast<std::size_t>(edge.src), static_cast<std::size_t>(edge.dst), edge.share);
    }
    expect_same(sums.near_out, pairs.near_out);
    expect_same(sums.near_in, pairs.near_in);
    expect_same(sums.far_out, pairs.far_out);
    expect_same(sums.far_in, pairs.far_in);
  }
}

TEST(ExchangeSums, RelaysSendToTheirRails) {
  // By relays a member sends to other nodes what its node has for its rail, and receives what is its own.
  const GroupLayout layout = uniform_layout(40, 8);
  const CollectiveRequest request = uneven(40);
  SumsOfMembers pairs{40}, sums{40};
  for (int src = 0; src < 40; ++src) {
    for (int dst = 0; dst < 40; ++dst) {
      if (layout.node_of[static_cast<std::size_t>(src)] != layout.node_of[static_cast<std::size_t>(dst)]) {
        pairs.add(layout, static_cast<std::size_t>(layout.relay_of(src, dst)), static_cast<std::size_t>(dst),
                  pair_share(request, 40, src, dst));
      }
    }
  }
  for (const ChannelEdge& edge : exchange_by_sums(request, layout, /*relayed=*/true)) {
    const bool is_near = edge.src / 8 == edge.dst / 8;
    EXPECT_TRUE(is_near || edge.src % 8 == edge.dst % 8);
    sums.add(layout, static_cast<std::size_t>(edge.src), static_cast<std::size_t>(edge.dst), edge.share);
  }
  expect_same(sums.far_out, pairs.far_out);
  expect_same(sums.far_in, pairs.far_in);
}

TEST(ExchangeSums, ALargeGroupHasAsMuchOnItsNicsAsAllPairs) {
  // 1280 members on 160 nodes of 8: 1272/1280 of the buffer leave each member, by 32 edges and 7 in the node.
  const GroupLayout layout = uniform_layout(1280, 8);
  SumsOfMembers sums{1280};
  const auto edges =
      exchange_by_sums({.kind = CollectiveKind::AllToAll, .size = 1_MiB}, layout, /*relayed=*/true);
  for (const ChannelEdge& edge : edges) {
    sums.add(layout, static_cast<std::size_t>(edge.src), static_cast<std::size_t>(edge.dst), edge.share);
  }
  expect_same(sums.far_out, std::vector<double>(1280, 1272.0 / 1280));
  expect_same(sums.far_in, std::vector<double>(1280, 1272.0 / 1280));
  EXPECT_EQ(edges.size(), 1280U * (32 + 7));
}

TEST(ExchangeSums, AnUnevenAllToAllOfAnySizeIsPlanned) {
  const Fabric fabric = testing::rail_cluster(130, 8);
  CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = {}};
  request.bytes.assign(std::size_t{1040} * 1040, 1024.0);
  const CollectivePlan uneven = plan_all(fabric, request);
  const CollectivePlan even =
      plan_all(fabric, {.kind = CollectiveKind::AllToAll, .size = Bytes{1024.0 * 1040}});
  EXPECT_NEAR(time_alone(uneven, fabric) / time_alone(even, fabric), 1, 1e-6);
}

}  // namespace
}  // namespace lockstep
