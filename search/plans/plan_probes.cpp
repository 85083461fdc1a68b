#include "search/plans/plan_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_estimate.hpp"
#include "search/plans/plan_outlook.hpp"
#include "search/plans/plan_rivals.hpp"
#include "search/plans/stage_balance.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kRound = 64;    // stages between two looks at what they beat
constexpr std::size_t kTogether = 8;  // at most, in one process, which shares what they have in common

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
  const MachineRates rates = judge_.rates();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const double promise = outlook(candidates_[i], judge_.problem(), rates).in_base_units();
    for (const StageProbe& probe : probes_of(candidates_[i], judge_.problem())) {
      Stage& stage = stages.with(relaxed(probe, judge_.problem()), promise);
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
  PlanRivals rivals{keep};
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const PlanCandidate& candidate = candidates_[i];
    const std::vector<StageProbe> probes = probes_of(candidate, judge_.problem());
    const std::vector<StageProbe> simple = relaxed(probes, judge_.problem());
    const std::optional<CostsOfStages> costs = costs_of(simple);
    if (!costs || key_of(probes.front()) == key_of(simple.front())) {
      continue;
    }
    const EstimateInput input = judge_.estimate_input(candidate);
    const Seconds promise = estimate(candidate, *costs, input).step;
    const Seconds least =
        least_step(promise, candidate, *costs, input) - most_gained(candidate, *costs, input);
    const Bytes of_layer{(*costs)[0].pass_memory.of_layer[MemoryUse::Activations]};
    const Bytes memory = judge_.whole_memory(memory_bound(candidate, judge_.problem(), of_layer));
    const std::size_t rival = rivals.add({least.in_base_units(), memory.in_base_units(), candidate.gpus});
    for (const StageProbe& probe : probes) {
      Stage& stage = stages.with(probe, promise.in_base_units());
      if (stage.candidates.empty() || stage.candidates.back() != i) {
        stage.candidates.push_back(i);
        stage.rivals.push_back(rival);
      }
    }
  }
  const auto meet = [&](const std::vector<PlanFigures>& known) {
    std::ranges::for_each(known, [&](const PlanFigures& figures) { rivals.meet(figures); });
  };
  meet(std::exchange(known_, {}));
  std::vector<Stage> open = std::move(stages).in_order();
  while (!open.empty() && !tasks_.is_stopped()) {
    std::erase_if(open, [&](const Stage& stage) {
      const bool is_beaten =
          std::ranges::all_of(stage.rivals, [&](std::size_t rival) { return rivals.is_beaten(rival); });
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
    const std::vector<StageProbe> probes = probes_of(candidate, judge_.problem());
    return any_failed(probes) || any_failed(relaxed(probes, judge_.problem()));
  }));
}

std::optional<CostsOfStages> PlanProbes::costs_of(const PlanCandidate& candidate) const {
  return costs_of(probes_of(candidate, judge_.problem()));
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
  const std::size_t together = std::clamp(stages.size() / (2 * tasks_.jobs()), std::size_t{1}, kTogether);
  const std::size_t processes = (stages.size() + together - 1) / together;
  const auto those_of = [&](std::size_t process) {
    const std::size_t first = process * together;
    return stages.subspan(first, std::min(together, stages.size() - first));
  };
  const auto ends = tasks_.run(
      processes, [&](std::size_t process) { print_answers(those_of(process)); }, what);
  std::vector<PlanFigures> known;
  for (std::size_t process = 0; process < processes; ++process) {
    const std::span<const Stage> some = those_of(process);
    if (!ends[process]) {
      continue;
    }
    if (some.size() == 1 || ends[process]->failure.empty()) {
      take(some, *ends[process], known);
      continue;
    }
    const auto single = tasks_.run(
        some.size(), [&](std::size_t i) { print_answers(some.subspan(i, 1)); }, what);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (single[i]) {
        take(some.subspan(i, 1), *single[i], known);
      }
    }
  }
  return known;
}

void PlanProbes::print_answers(std::span<const Stage> stages) const {
  StageSimulator simulator = judge_.stages();
  for (const Stage& stage : stages) {
    fmt::print("{}", printed(simulator.answers(stage.probe)));
  }
}

void PlanProbes::take(std::span<const Stage> stages, const PlanTaskEnd& end,
                      std::vector<PlanFigures>& known) {
  count_failure(failures_, end, stages.front().key);
  if (!end.failure.empty()) {
    failed_.insert(stages.front().key);
    return;
  }
  std::istringstream answers{end.printed};
  for (const Stage& stage : stages) {
    costs_.emplace(stage.key, stage_costs(sizes_of(stage.probe), probe_answers_in(answers)));
    for (const std::size_t candidate : stage.candidates) {
      const std::optional<CostsOfStages> costs = costs_of(candidates_[candidate]);
      const auto figures = costs ? estimator_(candidate, *costs) : std::nullopt;
      if (figures) {
        known.push_back(*figures);
      }
    }
  }
}

}  // namespace lockstep
