#include "search/plans/plan_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "search/plans/closed_form_step.hpp"
#include "search/plans/dominance_filter.hpp"
#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_estimate.hpp"
#include "search/plans/stage_balance.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kRound = 64;  // stages between two looks at what they beat

}  // namespace

/// Stages, each once, in the order of what they promise.
class PlanProbes::Stages {
 public:
  Stage& with(const StageProbe& probe, double promise) {
    std::string key = key_of(probe);
    const auto [number, fresh] = numbers_.try_emplace(std::move(key), stages_.size());
    if (fresh) {
      stages_.push_back({probe, number->first, promise, {}, {}});
    }
    Stage& stage = stages_[number->second];
    stage.promise = std::min(stage.promise, promise);
    return stage;
  }

  std::vector<Stage> in_order() && {
    std::ranges::stable_sort(stages_, {}, &Stage::promise);
    return std::move(stages_);
  }

 private:
  std::vector<Stage> stages_;
  std::map<std::string, std::size_t> numbers_;  // by key
};

namespace {

std::vector<StageProbe> relaxed(std::vector<StageProbe> probes, const PlanProblem& problem) {
  for (StageProbe& probe : probes) {
    probe = relaxed(std::move(probe), problem);
  }
  return probes;
}

}  // namespace

void PlanProbes::run_relaxed() {
  Stages stages;
  const MachineRates rates = evaluator_.rates();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const double promise = closed_form_step_time(candidates_[i], evaluator_.problem(), rates).in_base_units();
    for (const StageProbe& probe : probes_of(candidates_[i], evaluator_.problem())) {
      Stage& stage = stages.with(relaxed(probe, evaluator_.problem()), promise);
      const bool is_new = stage.candidates.empty() || stage.candidates.back() != i;
      if (is_new && key_of(probe) == stage.key) {
        stage.candidates.push_back(i);
      }
    }
  }
  known_ = run(std::move(stages).in_order(), "simulating stages");
}

void PlanProbes::run_others(std::size_t keep) {
  Stages stages;
  DominanceFilter dominance{keep};
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const PlanCandidate& candidate = candidates_[i];
    const std::vector<StageProbe> probes = probes_of(candidate, evaluator_.problem());
    const std::vector<StageProbe> simple = relaxed(probes, evaluator_.problem());
    const std::optional<CostsOfStages> costs = costs_of(simple);
    if (!costs || key_of(probes.front()) == key_of(simple.front())) {
      continue;
    }
    const EstimateInput input = evaluator_.estimate_input(candidate);
    const Seconds promise = estimate(candidate, *costs, input).step;
    const Seconds least =
        least_step(promise, candidate, *costs, input) - most_gained(candidate, *costs, input);
    const Bytes of_layer{(*costs)[0].pass_memory.of_layer[MemoryUse::Activations]};
    const Bytes memory = evaluator_.whole_memory(memory_bound(candidate, evaluator_.problem(), of_layer));
    const std::size_t rival = dominance.add({least.in_base_units(), memory.in_base_units(), candidate.gpus});
    for (const StageProbe& probe : probes) {
      Stage& stage = stages.with(probe, promise.in_base_units());
      if (stage.candidates.empty() || stage.candidates.back() != i) {
        stage.candidates.push_back(i);
        stage.dominance.push_back(rival);
      }
    }
  }
  const auto meet = [&](const std::vector<PlanFigures>& known) {
    std::ranges::for_each(known, [&](const PlanFigures& figures) { dominance.meet(figures); });
  };
  meet(std::exchange(known_, {}));
  std::vector<Stage> open = std::move(stages).in_order();
  while (!open.empty() && !tasks_.is_stopped()) {
    std::erase_if(open, [&](const Stage& stage) {
      const bool is_beaten =
          std::ranges::all_of(stage.dominance, [&](std::size_t rival) { return dominance.is_beaten(rival); });
      if (is_beaten) {
        beaten_.insert(stage.candidates.begin(), stage.candidates.end());
      }
      return is_beaten;
    });
    const std::size_t next = std::min(kRound, open.size());
    meet(run(std::span{open}.first(next),
             fmt::format("simulating stages with sharding and recomputation, {} left at most", open.size())));
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(next));
  }
  wanted_ += open.size();
}

std::size_t PlanProbes::unknown_for_failures() const {
  if (failed_.empty()) {
    return 0;
  }
  const auto any_failed = [&](const std::vector<StageProbe>& probes) {
    return std::ranges::any_of(probes,
                               [&](const StageProbe& probe) { return failed_.contains(key_of(probe)); });
  };
  return static_cast<std::size_t>(std::ranges::count_if(candidates_, [&](const PlanCandidate& candidate) {
    const std::vector<StageProbe> probes = probes_of(candidate, evaluator_.problem());
    return any_failed(probes) || any_failed(relaxed(probes, evaluator_.problem()));
  }));
}

std::optional<CostsOfStages> PlanProbes::costs_of(const PlanCandidate& candidate) const {
  return costs_of(probes_of(candidate, evaluator_.problem()));
}

std::optional<CostsOfStages> PlanProbes::costs_of(const std::vector<StageProbe>& probes) const {
  std::vector<const StageCosts*> of_stage;
  for (const StageProbe& probe : probes) {
    const auto costs = costs_.find(key_of(probe));
    if (costs == costs_.end()) {
      return std::nullopt;
    }
    of_stage.push_back(&costs->second);
  }
  return CostsOfStages{std::move(of_stage)};
}

std::vector<PlanFigures> PlanProbes::run(std::span<const Stage> stages, const std::string& what) {
  wanted_ += stages.size();
  StageSimulator simulator = evaluator_.stages();  // each child's copy keeps what its stages have in common
  const auto ends = tasks_.run(
      stages.size(),
      [&](std::size_t stage) { fmt::print("{}", printed(simulator.answers(stages[stage].probe))); }, what);
  std::vector<PlanFigures> known;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (ends[stage]) {
      take(stages[stage], *ends[stage], known);
    }
  }
  return known;
}

void PlanProbes::take(const Stage& stage, const PlanTaskEnd& end, std::vector<PlanFigures>& known) {
  count_failure(failures_, end, stage.key);
  if (!end.failure.empty()) {
    failed_.insert(stage.key);
    return;
  }
  std::istringstream answers{end.printed};
  costs_.emplace(stage.key, stage_costs(sizes_of(stage.probe), probe_answers_in(answers)));
  for (const std::size_t candidate : stage.candidates) {
    const std::optional<CostsOfStages> costs = costs_of(candidates_[candidate]);
    const auto figures = costs ? estimator_(candidate, *costs) : std::nullopt;
    if (figures) {
      known.push_back(*figures);
    }
  }
}

}  // namespace lockstep
