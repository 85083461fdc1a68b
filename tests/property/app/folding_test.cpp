#include <gtest/gtest.h>

#include "scenario/prediction.hpp"
#include "tests/support/same_result.hpp"

namespace lockstep::testing {
namespace {

SimulationResult predicted(const ConfigPath& configs, const std::string& scenario, const std::string& fold) {
  const auto path = configs.find_scenario(scenario);
  YamlDocument document = YamlDocument::from_file(path);
  document.set("fold", fold);
  const ResolvedScenario resolved = build(document, configs.beside(path.parent_path()));
  return predict(resolved, nullptr, EngineMode::Bare);
}

bool is_sweep(const ConfigPath& configs, const std::string& scenario) {
  return YamlDocument::from_file(configs.find_scenario(scenario)).root().find("matrix") != nullptr;
}

/// Of the last step, what the pieces of the critical path leave out; less than 0 where the path begins before
/// the step.
double missing_of_last_step(const SimulationResult& result) {
  const auto& ends = result.step_ends;
  double missing = ends.back() - (ends.size() > 1 ? ends[ends.size() - 2] : 0);
  for (const CriticalShare& share : result.critical_path) {
    missing -= share.seconds;
  }
  return missing;
}

TEST(ShippedScenarios, AreTheSameFoldedAndInFull) {
  const auto configs = ConfigPath::standard();
  int folded = 0;
  for (const std::string& scenario : configs.scenarios()) {
    if (is_sweep(configs, scenario)) {
      continue;  // many jobs
    }
    const SimulationResult in_full = predicted(configs, scenario, "off");
    SimulationResult by_default = predicted(configs, scenario, "auto");
    if (in_full.critical_path.empty()) {  // too large to be recorded in full
      by_default.critical_path.clear();
    }
    EXPECT_EQ(difference(in_full, by_default), "") << scenario;
    if (!in_full.critical_path.empty()) {
      EXPECT_LE(missing_of_last_step(in_full), 1e-9 * in_full.makespan().in_base_units()) << scenario;
    }
    folded += by_default.simulated_ranks < in_full.simulated_ranks ? 1 : 0;
  }
  EXPECT_GE(folded, 6) << "data-parallel jobs fold";
}

/// Context-parallel ranks run one program with peers of their own in its slots; the critical path of a folded
/// job has to name the peers of the ranks that it passes, not of the one that was simulated.
TEST(ARingOfContext, IsTheSameFoldedAndInFull) {
  const auto configs = ConfigPath::standard();
  const auto result = [&](const char* fold) {
    YamlDocument document = YamlDocument::from_file(configs.find_scenario("llama3_8b_fsdp"));
    document.set("parallelism", "{ ranks: 16, context: 16 }");
    document.set("workload.global_batch", "1");
    document.set("workload.model.transformer.layers", "2");
    document.set("fold", fold);
    return predict(build(document, configs), nullptr, EngineMode::Bare);
  };
  const SimulationResult folded = result("auto");
  EXPECT_LT(folded.simulated_ranks, 16U);
  EXPECT_FALSE(folded.critical_path.empty());
  EXPECT_EQ(difference(result("off"), folded), "");
}

}  // namespace
}  // namespace lockstep::testing
