#include "search/plans/pipeline_time.hpp"

#include <algorithm>
#include <cstddef>

#include "ops/workload/parallel/pipeline_schedule.hpp"

namespace lockstep {
namespace {

using Kind = StageAction::Kind;

constexpr double kNotYet = -1;

class LongestPath {
 public:
  LongestPath(const TransformerPlanSpec& plan, int micro_batches, const PipelineCosts& costs)
      : stages_{plan.pipeline},
        parts_{plan.pipeline * plan.chunks},
        micro_batches_{micro_batches},
        waits_for_sends_{plan.schedule == PipelineSchedule::OneFOneB ||
                         plan.schedule == PipelineSchedule::GPipe},
        apart_{plan.schedule == PipelineSchedule::ZeroBubble},
        costs_{costs} {
    const auto cells = static_cast<std::size_t>(parts_) * static_cast<std::size_t>(micro_batches_);
    for (std::vector<double>* times : {&ended_[0], &ended_[1], &posted_[0], &posted_[1]}) {
      times->assign(cells, kNotYet);
    }
    for (int stage = 0; stage < stages_; ++stage) {
      actions_.push_back(stage_actions(plan.schedule, stages_, stage, micro_batches_, plan.chunks));
    }
    next_.assign(actions_.size(), 0);
    free_.assign(actions_.size(), 0);
  }

  double length() {
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (std::size_t stage = 0; stage < actions_.size(); ++stage) {
        while (next_[stage] < actions_[stage].size() && advance(stage)) {
          advanced = true;
        }
      }
    }
    return *std::ranges::max_element(free_);
  }

 private:
  [[nodiscard]] int part_of(std::size_t stage, const StageAction& action) const {
    return action.chunk * stages_ + static_cast<int>(stage);
  }
  [[nodiscard]] std::size_t cell(int part, int micro_batch) const {
    return static_cast<std::size_t>(part) * static_cast<std::size_t>(micro_batches_) +
           static_cast<std::size_t>(micro_batch);
  }
  /// The part that an action sends to (+1) or receives from (-1); -1 for none.
  [[nodiscard]] int neighbour(int part, Kind kind, int way) const {
    const int other = part + (kind == Kind::Forward ? way : -way);
    return kind == Kind::WeightGradient || other >= parts_ ? -1 : other;
  }
  [[nodiscard]] static std::size_t direction(Kind kind) { return kind == Kind::Forward ? 0 : 1; }

  [[nodiscard]] double duration(int part, Kind kind) const {
    const auto number = static_cast<std::size_t>(part);
    switch (kind) {
      case Kind::Forward:
        return costs_.forward[number];
      case Kind::Backward:
        return costs_.backward[number] - (apart_ ? costs_.weights[number] : 0);
      case Kind::WeightGradient:
        return costs_.weights[number];
    }
    return 0;
  }

  /// When what the stage's action before the next one sent has arrived; kNotYet: nobody receives it yet.
  [[nodiscard]] double sent(std::size_t stage) const {
    if (!waits_for_sends_ || next_[stage] == 0) {
      return 0;
    }
    const StageAction& before = actions_[stage][next_[stage] - 1];
    const int to = neighbour(part_of(stage, before), before.kind, 1);
    if (to < 0) {
      return 0;
    }
    const double posted = posted_[direction(before.kind)][cell(to, before.micro_batch)];
    return posted == kNotYet ? kNotYet : std::max(posted, free_[stage]) + costs_.message;
  }

  bool advance(std::size_t stage) {
    const StageAction& action = actions_[stage][next_[stage]];
    const int part = part_of(stage, action);
    double start = free_[stage];
    const int from = neighbour(part, action.kind, -1);
    if (from >= 0) {
      posted_[direction(action.kind)][cell(part, action.micro_batch)] = free_[stage];
      const double ready = ended_[direction(action.kind)][cell(from, action.micro_batch)];
      if (ready == kNotYet) {
        return false;
      }
      start = std::max(start, ready) + costs_.message;
    }
    const double arrived = sent(stage);
    if (arrived == kNotYet) {
      return false;
    }
    free_[stage] = std::max(start, arrived) + duration(part, action.kind);
    if (action.kind != Kind::WeightGradient) {
      ended_[direction(action.kind)][cell(part, action.micro_batch)] = free_[stage];
    }
    ++next_[stage];
    return true;
  }

  int stages_, parts_, micro_batches_;
  bool waits_for_sends_, apart_;
  const PipelineCosts& costs_;
  std::vector<std::vector<StageAction>> actions_;  // by stage
  std::vector<std::size_t> next_;                  // by stage: its next action
  std::vector<double> free_;                       // by stage: when the action before has ended
  // By direction, part and micro-batch: when it has ended, and when its input is waited for.
  std::vector<double> ended_[2], posted_[2];
};

}  // namespace

double pipeline_time(const TransformerPlanSpec& plan, int micro_batches, const PipelineCosts& costs) {
  constexpr int kRounds = 4, kMost = 6;
  const int stages = plan.pipeline;
  if (micro_batches <= kMost * stages) {
    return LongestPath{plan, micro_batches, costs}.length();
  }
  const int few = kRounds * stages + micro_batches % stages;
  const double begun = LongestPath{plan, few, costs}.length();
  const double round = LongestPath{plan, few + stages, costs}.length() - begun;
  const int rounds = (micro_batches - few) / stages;
  return begun + rounds * round;
}

}  // namespace lockstep
