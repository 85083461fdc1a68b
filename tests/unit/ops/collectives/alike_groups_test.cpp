#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "ops/collectives/collective_planner.hpp"
#include "tests/support/planned_collectives.hpp"
#include "topology/alike_nodes.hpp"
#include "topology/ecmp.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

/// Groups of every third, second or next GPU from any first one: rails, nodes, pairs and mixtures.
std::vector<std::vector<VertexId>> strided_groups(const Fabric& fabric) {
  const auto gpus = fabric.gpus();
  std::vector<std::vector<VertexId>> groups;
  for (const std::size_t stride : {1U, 2U, 3U, 4U}) {
    for (const std::size_t members : {2U, 4U, 5U}) {
      for (std::size_t first = 0; first + stride * (members - 1) < gpus.size(); ++first) {
        std::vector<VertexId> group;
        for (std::size_t member = 0; member < members; ++member) {
          group.push_back(gpus[first + stride * member]);
        }
        groups.push_back(std::move(group));
      }
    }
  }
  return groups;
}

void expect_plans_of_fresh_planners(const Fabric& fabric) {
  const CollectivePlanner shared{fabric};
  for (const auto& group : strided_groups(fabric)) {
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllToAll, CollectiveKind::AllGather}) {
      const CollectiveRequest request{.kind = kind, .size = 3_MB};
      const CollectivePlan expected = CollectivePlanner{fabric}.plan(request, group);
      const CollectivePlan plan = shared.plan(request, group);
      ASSERT_EQ(plan.loads, expected.loads) << fabric.vertices()[group.front()].name;
      ASSERT_EQ(plan.latency, expected.latency);
      ASSERT_EQ(plan.rate_cap, expected.rate_cap);
      ASSERT_EQ(plan.algorithm, expected.algorithm);
      ASSERT_EQ(plan.protocol, expected.protocol);
    }
  }
}

TEST(AlikeGroups, HaveThePlansOfFreshPlanners) {
  expect_plans_of_fresh_planners(testing::rail_cluster(4, 4));
}

TEST(AlikeGroups, AreNotAlikeWhereALinkIsSlower) {
  const Fabric whole = testing::rail_cluster(3, 4);
  std::vector<Link> links{whole.links().begin(), whole.links().end()};
  const auto hurt = std::ranges::find_if(links, [&](const Link& link) {
    return whole.vertices()[link.from].node == 1 && link.kind == LinkKind::Network;
  });
  ASSERT_NE(hurt, links.end());
  hurt->bandwidth = 1_GBps;
  const Fabric fabric{{whole.vertices().begin(), whole.vertices().end()}, links};
  expect_plans_of_fresh_planners(fabric);
  const AlikeNodes& nodes = fabric.alike_nodes();
  const auto gpus = fabric.gpus();
  EXPECT_NE(nodes.signature(gpus.subspan(0, 4)), nodes.signature(gpus.subspan(4, 4)));
  EXPECT_EQ(nodes.signature(gpus.subspan(0, 4)), nodes.signature(gpus.subspan(8, 4)));
}

TEST(AlikeGroups, AreToldApartWhereAHashChooses) {
  const Fabric one_spine = testing::rail_cluster(4, 4);
  std::vector<Vertex> vertices{one_spine.vertices().begin(), one_spine.vertices().end()};
  std::vector<Link> links{one_spine.links().begin(), one_spine.links().end()};
  const auto second = static_cast<VertexId>(vertices.size());
  vertices.push_back({VertexKind::SpineSwitch, -1, 1, "spine1", ""});
  for (VertexId leaf = 0; leaf < second; ++leaf) {
    if (vertices[leaf].kind == VertexKind::LeafSwitch) {
      links.push_back({leaf, second, LinkKind::Network, 400_GBps, Seconds{0.5e-6}});
      links.push_back({second, leaf, LinkKind::Network, 400_GBps, Seconds{0.5e-6}});
    }
  }
  const Fabric fabric{vertices, links};
  const std::uint64_t before = hashed_choices();
  expect_plans_of_fresh_planners(fabric);
  EXPECT_GT(hashed_choices(), before);
}

TEST(AlikeGroups, ForgetPlansOfAnotherProfile) {
  const Fabric fabric = testing::rail_cluster(2, 4);
  const auto gpus = fabric.gpus();
  CollectivePlanner planner{fabric};
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 3_MB};
  (void)planner.plan(request, gpus.subspan(0, 4));
  const CollectivePlan before = planner.plan(request, gpus.subspan(4, 4));
  CollectiveProfile half = ideal_collective_profile();
  half.link_efficiency.nvlink = 0.5;
  planner.set_profile(half);
  EXPECT_GT(time_alone(planner.plan(request, gpus.subspan(4, 4)), fabric), 1.5 * time_alone(before, fabric));
}

}  // namespace
}  // namespace lockstep
