#include "ops/collectives/comm_algorithm.hpp"

#include <numeric>
#include <ostream>

#include "ops/collectives/tree.hpp"
#include "tests/support/collective_contract.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using testing::expect_correct;
using testing::expect_same_traffic;

/// A layout of @p nodes nodes of @p per_node members whose channels visit the nodes in different orders.
GroupLayout layout_of(int nodes, int per_node, int channels) {
  GroupLayout layout = uniform_layout(nodes * per_node, per_node);
  for (int channel = 1; channel < channels; ++channel) {
    std::vector<int> ring;
    for (int node = 0; node < nodes; ++node) {
      for (int place = 0; place < per_node; ++place) {
        const int turned =
            node % 2 == 0 ? (place + channel) % per_node : (per_node - place + channel) % per_node;
        ring.push_back(node * per_node + turned);
      }
    }
    layout.rings.push_back(ring);
  }
  return layout;
}

struct Case {
  CommAlgorithm algorithm;
  CollectiveKind kind;
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  return name_of(info.param.algorithm) + "_" + to_string(info.param.kind);
}

void PrintTo(const Case& of, std::ostream* out) {
  *out << name_of(of.algorithm) << " " << to_string(of.kind);
}

class EveryAlgorithm : public ::testing::TestWithParam<Case> {};

TEST_P(EveryAlgorithm, DeliversEachContributionOnceAndItsTrafficIsItsSchedule) {
  const CommAlgorithmRow& row = row_of(GetParam().algorithm);
  for (const int nodes : {1, 2, 3, 4, 7}) {
    for (const int per_node : {1, 2, 3, 4}) {
      for (const int channels : {1, 2}) {
        const GroupLayout layout = layout_of(nodes, per_node, channels);
        CollectiveRequest request{.kind = GetParam().kind, .size = 840_B};
        request.root = layout.members() / 2;
        request.source = 0;
        if (layout.members() == 1 || row.objection(request, layout) != "") {
          ASSERT_EQ(layout.members(), 1) << row.objection(request, layout);
          continue;
        }
        SCOPED_TRACE(::testing::Message()
                     << nodes << " nodes of " << per_node << ", " << channels << " channels");
        const CommSchedule schedule = row.schedule(request, layout);
        expect_correct(request, schedule, layout.members());
        expect_same_traffic(request, row.traffic(request, layout), schedule);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         ::testing::Values(Case{CommAlgorithm::Ring, CollectiveKind::AllReduce},
                                           Case{CommAlgorithm::Ring, CollectiveKind::ReduceScatter},
                                           Case{CommAlgorithm::Ring, CollectiveKind::AllGather},
                                           Case{CommAlgorithm::Ring, CollectiveKind::Broadcast},
                                           Case{CommAlgorithm::Ring, CollectiveKind::Reduce},
                                           Case{CommAlgorithm::Tree, CollectiveKind::AllReduce},
                                           Case{CommAlgorithm::Direct, CollectiveKind::AllReduce},
                                           Case{CommAlgorithm::Direct, CollectiveKind::ReduceScatter},
                                           Case{CommAlgorithm::Direct, CollectiveKind::AllGather},
                                           Case{CommAlgorithm::Direct, CollectiveKind::AllToAll},
                                           Case{CommAlgorithm::Direct, CollectiveKind::Send},
                                           Case{CommAlgorithm::Hierarchical, CollectiveKind::AllReduce},
                                           Case{CommAlgorithm::Hierarchical, CollectiveKind::ReduceScatter},
                                           Case{CommAlgorithm::Hierarchical, CollectiveKind::AllGather},
                                           Case{CommAlgorithm::Hierarchical, CollectiveKind::AllToAll},
                                           Case{CommAlgorithm::Pxn, CollectiveKind::AllToAll},
                                           Case{CommAlgorithm::Pxn, CollectiveKind::Send},
                                           Case{CommAlgorithm::Pat, CollectiveKind::AllGather},
                                           Case{CommAlgorithm::Pat, CollectiveKind::ReduceScatter}),
                         name_of_case);

TEST(Direct, UnevenAllToAllSendsTheMatrix) {
  // 0 sends 300 to 1 and nothing to 2; 1 sends 100 to 0; 2 sends 200 to each. Size: the mean row, own part of
  // 100 included: (400 + 100 + 400) / 3 = 300.
  CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 300_B};
  request.bytes = {100, 300, 0, 100, 0, 0, 200, 200, 0};
  const GroupLayout layout = uniform_layout(3, 3);
  const CommAlgorithmRow& row = row_of(CommAlgorithm::Direct);
  const CommSchedule schedule = row.schedule(request, layout);
  expect_correct(request, schedule, 3);
  expect_same_traffic(request, row.traffic(request, layout), schedule);
  const std::map<std::pair<int, int>, double> expected{
      {{0, 1}, 300}, {{1, 0}, 100}, {{2, 0}, 200}, {{2, 1}, 200}};
  EXPECT_EQ(testing::bytes_by_pair(schedule), expected);
}

TEST(Ring, SendsTheBandwidthOptimalVolumeInTwicePassSteps) {
  // Patarasuk and Yuan: 2 (n-1)/n of the buffer leaves every member, in 2 (n-1) steps.
  const GroupLayout layout = uniform_layout(5, 5);
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 100_B};
  const CommAlgorithmRow& row = row_of(CommAlgorithm::Ring);
  EXPECT_EQ(row.schedule(request, layout).steps.size(), 8u);
  for (const ChannelEdge& edge : row.traffic(request, layout)) {
    EXPECT_DOUBLE_EQ(edge.share, 1.6);
  }
}

TEST(Ring, CountsTheStepsOfTheChunkThatCrossesMostNodes) {
  // 4 nodes of 8: 2 * 31 steps, 2 * 4 of them between nodes.
  const StepCount steps =
      row_of(CommAlgorithm::Ring).steps({.kind = CollectiveKind::AllReduce}, uniform_layout(32, 8));
  EXPECT_EQ(steps.between_nodes, 8);
  EXPECT_EQ(steps.within_nodes, 54);
}

TEST(Ring, ScalesLinearly) {
  // 2048 nodes of 8 GPUs: one edge a member, not one message a step.
  const GroupLayout layout = uniform_layout(16384, 8);
  EXPECT_EQ(row_of(CommAlgorithm::Ring).traffic({.kind = CollectiveKind::AllReduce}, layout).size(), 16384u);
  EXPECT_EQ(row_of(CommAlgorithm::Tree).traffic({.kind = CollectiveKind::AllReduce}, layout).size(),
            4u * 16383u);
}

TEST(Pxn, KeepsMessagesBetweenNodesOnTheirRail) {
  // 3 nodes of 4, n = 12: what a member sends to its neighbour is that one's own piece and those for its two
  // peers on other nodes, 3/12; what goes to a peer are the pieces of all four members, 4/12.
  const GroupLayout layout = uniform_layout(12, 4);
  const CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 1200_B};
  const auto edges = row_of(CommAlgorithm::Pxn).traffic(request, layout);
  EXPECT_EQ(edges.size(), 12U * (3 + 2));
  for (const ChannelEdge& edge : edges) {
    const bool inside = edge.src / 4 == edge.dst / 4;
    EXPECT_TRUE(inside || edge.src % 4 == edge.dst % 4) << edge.src << ' ' << edge.dst;
    EXPECT_NEAR(edge.share, inside ? 3.0 / 12 : 4.0 / 12, 1e-12);
  }
}

TEST(Pxn, RelaysUnevenPiecesWhole) {
  // 2 nodes of 2: 0 sends 100 to 3 by way of 1, and 30 to 2 straight.
  CollectiveRequest request{.kind = CollectiveKind::AllToAll, .size = 130_B / 4};
  request.bytes = {0, 0, 30, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const GroupLayout layout = uniform_layout(4, 2);
  const CommAlgorithmRow& row = row_of(CommAlgorithm::Pxn);
  const CommSchedule schedule = row.schedule(request, layout);
  expect_correct(request, schedule, 4);
  expect_same_traffic(request, row.traffic(request, layout), schedule);
  const std::map<std::pair<int, int>, double> expected{{{0, 1}, 100}, {{1, 3}, 100}, {{0, 2}, 30}};
  EXPECT_EQ(testing::bytes_by_pair(schedule), expected);
}

TEST(Pxn, SendsStraightWithoutARelay) {
  // Nodes of 2 and 1: the first has a GPU number 0 and 1, the second only number 0.
  const GroupLayout layout = uniform_layout(3, 2);
  EXPECT_EQ(layout.relay_of(1, 2), 0);
  EXPECT_EQ(layout.relay_of(2, 1), 2);
  EXPECT_EQ(layout.relay_of(0, 1), 0);
}

TEST(Pat, TakesLogarithmicStepsAndTheVolumeOfARing) {
  for (const auto& [members, levels] :
       {std::pair{2, 1U}, std::pair{3, 2U}, std::pair{8, 3U}, std::pair{9, 4U}, std::pair{100, 7U}}) {
    const GroupLayout layout = uniform_layout(members, 1);
    const CollectiveRequest request{.kind = CollectiveKind::AllGather, .size = 1_MB};
    const CommAlgorithmRow& row = row_of(CommAlgorithm::Pat);
    EXPECT_EQ(row.schedule(request, layout).steps.size(), levels);
    EXPECT_EQ(row.steps(request, layout).between_nodes, static_cast<int>(levels));
    EXPECT_EQ(row.steps(request, layout).within_nodes, members);
    double out = 0;
    for (const ChannelEdge& edge : row.traffic(request, layout)) {
      out += edge.src == 0 ? edge.share : 0;
    }
    EXPECT_NEAR(out, (members - 1.0) / members, 1e-12) << members;
  }
}

TEST(Pat, SendsFewPiecesFar) {
  // 8 members, all-gather: 1 piece over distance 4, 2 over 2, 4 over 1.
  for (const ChannelEdge& edge :
       row_of(CommAlgorithm::Pat).traffic({.kind = CollectiveKind::AllGather}, uniform_layout(8, 1))) {
    const int distance = (edge.dst - edge.src + 8) % 8;
    EXPECT_NEAR(edge.share, 4.0 / distance / 8, 1e-12);
  }
}

int height_of(const std::vector<int>& parents) {
  int height = 0;
  for (int v = 0; v < static_cast<int>(parents.size()); ++v) {
    int depth = 0;
    for (int up = v; parents[static_cast<std::size_t>(up)] >= 0; up = parents[static_cast<std::size_t>(up)]) {
      ++depth;
      if (depth > static_cast<int>(parents.size())) {
        return -1;  // a cycle
      }
    }
    height = std::max(height, depth);
  }
  return height;
}

std::vector<int> children_of(const std::vector<int>& parents) {
  std::vector<int> children(parents.size(), 0);
  for (const int parent : parents) {
    if (parent >= 0) {
      ++children[static_cast<std::size_t>(parent)];
    }
  }
  return children;
}

TEST(Tree, TwinsShareNoInteriorVertexButOne) {
  for (int n = 1; n <= 100; ++n) {
    const auto first = binary_tree(n);
    const auto second = twin_tree(n);
    const int levels = static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));  // ceil(log2 n)
    int in_both = 0;
    for (const auto& tree : {first, second}) {
      EXPECT_EQ(std::count(tree.begin(), tree.end(), -1), 1) << n;
      EXPECT_LE(height_of(tree), levels) << n;
      EXPECT_GE(height_of(tree), 0) << n;
      const auto children = children_of(tree);
      EXPECT_LE(*std::max_element(children.begin(), children.end()), 2) << n;
    }
    const auto a = children_of(first);
    const auto b = children_of(second);
    for (std::size_t v = 0; v < a.size(); ++v) {
      in_both += a[v] > 0 && b[v] > 0 ? 1 : 0;
    }
    EXPECT_LE(in_both, 1) << n;
  }
}

TEST(Hierarchical, RefusesNodesOfDifferentSizes) {
  const GroupLayout layout = uniform_layout(5, 2);  // nodes of 2, 2 and 1
  EXPECT_EQ(row_of(CommAlgorithm::Hierarchical).objection({.kind = CollectiveKind::AllReduce}, layout),
            "hierarchical needs equally many members on every node");
}

}  // namespace
}  // namespace lockstep
