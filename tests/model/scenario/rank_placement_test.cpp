#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "scenario/prediction.hpp"
#include "scenario/straddling_groups.hpp"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// 16 ranks of a mixture of 8 experts, each group of 8, on racks of 72 and 72 GPUs or what is said.
ResolvedScenario resolved_from(const std::string& cluster, const std::string& parallelism) {
  return build(
      YamlDocument::from_text("name: x\ncluster: " + cluster +
                                  "\nworkload: { model: mixtral_8x7b, global_batch: 128, micro_batch: 1, "
                                  "precision: bf16 }\nparallelism: { " +
                                  parallelism + " }\nsteps: 2\nmemory: { check_capacity: false }\n",
                              "scenario.yaml"),
      ConfigPath::standard());
}

/// How many ranks each node has, in order.
std::vector<int> ranks_of_nodes(const ResolvedScenario& resolved) {
  std::vector<int> ranks;
  for (const RankAssignment& rank : resolved.job.ranks) {
    const auto node = static_cast<std::size_t>(resolved.fabric.vertices()[rank.gpu].node);
    ranks.resize(std::max(ranks.size(), node + 1));
    ++ranks[node];
  }
  return ranks;
}

// Context times experts is 16 ranks in a row: 72 = 4 x 16 + 8, so 64 on a rack; 128 ranks are two racks.
// Filled racks would have 72 and 56, and one expert group of 8 in 16 would still stay, but the context group
// of the ranks 64 to 79 would not.
TEST(RankPlacement, ContextGroupsStayInTheirRack) {
  const ResolvedScenario aligned =
      resolved_from("gb200_nvl72 x 2", "ranks: 128, context: 16, sharding: zero1");
  EXPECT_THAT(ranks_of_nodes(aligned), ElementsAre(64, 64));
  EXPECT_THAT(straddling_groups(aligned), IsEmpty());
  const ResolvedScenario filled =
      resolved_from("gb200_nvl72 x 2", "ranks: 128, context: 16, sharding: zero1, ranks_per_node: 72");
  EXPECT_THAT(ranks_of_nodes(filled), ElementsAre(72, 56));
  EXPECT_THAT(straddling_groups(filled),
              ElementsAre(AllOf(HasSubstr("1 of 8 context groups of 16 ranks leave their NVLink domain"),
                                HasSubstr("900 GB/s inside"),
                                HasSubstr("'ranks_per_node: 64' on 2 nodes they stay inside"))));
}

// A group of 16 does not fit a node of 8.
TEST(RankPlacement, GroupsThatMustLeaveAreTold) {
  const ResolvedScenario resolved = resolved_from("dgx_h100 x 2", "context: 16, sharding: zero1");
  EXPECT_THAT(ranks_of_nodes(resolved), ElementsAre(8, 8));
  EXPECT_THAT(straddling_groups(resolved),
              ElementsAre(HasSubstr("their ranks are spread over 16 GPUs, and a node has 8")));
}

// Without NVLink there is no domain to leave.
TEST(RankPlacement, MachinesWithoutNvlinkHaveNoDomains) {
  const std::string node =
      "{ name: pcie, source: drawn, gpu: h100_80gb_pcie, network: infiniband_ndr, vertices: [{ name: gpu, "
      "kind: "
      "gpu, count: 8 }, { name: plx, kind: pcie_switch }, { name: nic, kind: nic }, { name: cpu, kind: cpu "
      "}], "
      "links: [{ connect: gpu*, with: plx, link: pcie5_x16 }, { connect: nic, with: plx, link: pcie5_x16 }, "
      "{ "
      "connect: plx, with: cpu, link: pcie5_x16 }] }";
  const ResolvedScenario resolved =
      resolved_from("{ nodes: [{ node: " + node + ", count: 2 }] }", "context: 16, sharding: zero1");
  EXPECT_THAT(ranks_of_nodes(resolved), ElementsAre(8, 8));
  EXPECT_THAT(straddling_groups(resolved), IsEmpty());
}

// Ranks on half of each node's GPUs: rank 4 is the first of the second node, and has a NIC of its own there.
TEST(RankPlacement, RanksPerNodeLeaveGpusIdle) {
  const ResolvedScenario resolved =
      resolved_from("dgx_h100 x 4", "ranks_per_node: 4, expert: 4, sharding: zero1");
  EXPECT_THAT(ranks_of_nodes(resolved), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(resolved.fabric.vertices()[resolved.job.ranks[4].gpu].name, "node1.gpu0");
}

}  // namespace
}  // namespace lockstep
