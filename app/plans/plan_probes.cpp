#include "app/plans/plan_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "search/plans/plan_estimate.hpp"
#include "search/plans/plan_outlook.hpp"

namespace lockstep {

void PlanProbes::run_relaxed() {
  std::vector<StageProbe> probes;
  const MachineRates rates = judge_.rates();
  for (const PlanCandidate& candidate : candidates_) {
    add(relaxed(probe_of(candidate), judge_.problem()),
        outlook(candidate, judge_.problem(), rates).in_base_units(), probes);
  }
  run(std::move(probes), "simulating stages");
}

void PlanProbes::run_others() {
  std::vector<StageProbe> probes;
  for (const PlanCandidate& candidate : candidates_) {
    const StageProbe probe = probe_of(candidate), simple = relaxed(probe, judge_.problem());
    const StageCosts* costs = costs_of(simple);
    if (costs != nullptr && key_of(probe) != key_of(simple)) {
      const PlanEstimate promise = estimate(candidate, *costs, judge_.estimate_input(candidate));
      add(probe, promise.step.in_base_units(), probes);
    }
  }
  run(std::move(probes), "simulating stages with sharding and recomputation");
}

const StageCosts* PlanProbes::costs_of(const StageProbe& probe) const {
  const auto costs = costs_.find(key_of(probe));
  return costs == costs_.end() ? nullptr : &costs->second;
}

void PlanProbes::add(const StageProbe& probe, double promise, std::vector<StageProbe>& probes) {
  const auto [entry, fresh] = promises_.try_emplace(key_of(probe), promise);
  entry->second = std::min(entry->second, promise);
  if (fresh) {
    probes.push_back(probe);
  }
}

void PlanProbes::run(std::vector<StageProbe> probes, const std::string& what) {
  std::ranges::stable_sort(probes, {}, [&](const StageProbe& probe) { return promises_.at(key_of(probe)); });
  const auto ends = tasks_.run(
      probes.size(), [&](std::size_t i) { fmt::print("{}", printed(judge_.probe(probes[i]))); }, what);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (!ends[i]) {
      continue;
    }
    const std::string key = key_of(probes[i]);
    count_failure(failures_, *ends[i], key);
    if (ends[i]->failure.empty()) {
      costs_.emplace(key, stage_costs(sizes_of(probes[i]), probe_answers_in(ends[i]->printed)));
    }
  }
}

}  // namespace lockstep
