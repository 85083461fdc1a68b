#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/prediction.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

ResolvedScenario resolved_from(const std::string& machine) {
  return build(YamlDocument::from_text(
                   "name: x\n" + machine +
                       "\nworkload: {model: bert_base, global_batch: 16, precision: fp16}\nsteps: 2\n",
                   "scenario.yaml"),
               ConfigPath::standard());
}

Seconds step(const std::string& machine) {
  return predict(resolved_from(machine), nullptr, EngineMode::Bare).mean_step();
}

std::string complaint_about(const std::string& machine) {
  try {
    (void)resolved_from(machine);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool has_memory(const ResolvedScenario& resolved) {
  return resolved.fabric.links().back().kind == LinkKind::HostMemory;
}

const std::string kWorkstation = "cluster: workstation_4gpu_pcie4\n";

TEST(PeerAccessOfAScenario, IsTheGpusAndNccls) {
  EXPECT_TRUE(has_memory(resolved_from(kWorkstation)));  // four cards on a CPU: NCCL's own rule
  EXPECT_FALSE(has_memory(resolved_from(kWorkstation + "parallelism: {ranks: 2}")));  // a pair on AMD
  EXPECT_TRUE(has_memory(resolved_from(kWorkstation + "gpu: rtx_4090_24gb\nparallelism: {ranks: 2}")));
  EXPECT_FALSE(has_memory(resolved_from(kWorkstation + "collectives: {p2p_level: SYS}")));
  EXPECT_TRUE(has_memory(resolved_from(kWorkstation + "gpu: rtx_4090_24gb\ncollectives: {p2p_level: SYS}")));
}

TEST(PeerAccessOfAScenario, CostsTime) {
  EXPECT_GT(step(kWorkstation), step(kWorkstation + "collectives: {p2p_level: SYS}"));
  EXPECT_EQ(step("cluster: dgx_a100"), step("cluster: dgx_a100\ncollectives: {p2p_level: NVL}"));
  EXPECT_GT(step("cluster: dgx_a100\ncollectives: {p2p_level: LOC}"), step("cluster: dgx_a100"));
  EXPECT_EQ(resolved_from("cluster: dgx_a100\ncollectives: {p2p_level: LOC}").profile.name, "pcie");
}

TEST(PeerAccessOfAScenario, SaysWhatIsWrong) {
  EXPECT_THAT(complaint_about("cluster: dgx_a100\ncollectives: {p2p_level: phb}"),
              HasSubstr("scenario.yaml:3:26: p2p_level"));
  EXPECT_THAT(
      complaint_about(
          "cluster:\n  vertices:\n    - {name: gpu, kind: gpu, count: 2, model: a100_40gb}\n"
          "    - {name: plx, kind: pcie_switch}\n"
          "  links: [{connect: gpu*, with: plx, link: pcie4_x16}]\ncollectives: {p2p_level: LOC}"),
      HasSubstr(
          "scenario.yaml:7:26: collectives.p2p_level: 'gpu0' and 'gpu1' have no peer access and exchange "
          "through host memory: 'gpu0' has no host memory"));
}

/// Between nodes: NICs reach the memory of GPUs below their own switch, unless NCCL is told otherwise.
TEST(PeerAccessOfAScenario, IsTheNicsToo) {
  const std::string nodes = "cluster: {from: dgx_a100 x 2, network: {nics_per_node: 1}}\n";
  EXPECT_FALSE(has_memory(resolved_from("cluster: dgx_a100 x 2\n")));
  EXPECT_GT(step(nodes + "collectives: {net_gdr_level: LOC}"), step(nodes));
  EXPECT_EQ(step(nodes + "collectives: {net_gdr_level: PIX}"), step(nodes));
  EXPECT_TRUE(has_memory(resolved_from(nodes + "gpu: rtx_4090_24gb\ncollectives: {profile: dgx_a100}")));
}

}  // namespace
}  // namespace lockstep
