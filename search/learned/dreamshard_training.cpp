#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "search/learned/adam.hpp"
#include "search/learned/choice.hpp"
#include "search/learned/dreamshard_policy.hpp"
#include "search/learned/learning_tasks.hpp"
#include "search/learned/training.hpp"

namespace lockstep::sharding::learned {
namespace {

// DreamShard has 10 rounds of 10 plans measured, 300 steps of the cost network with 64 plans and 10 steps of
// the policy, and half the learning rate (../shared/reference/sharding.md, 4). Ours are smaller rounds and
// more of them: as many steps of the cost network, with half the plans each, and nine times the plans
// measured and the steps of the policy, which cost little here.
constexpr std::size_t kPlans = 30;
constexpr int kCostSteps = 100;
constexpr std::size_t kCostBatch = 32;
constexpr int kPolicySteps = 30;
constexpr std::size_t kEpisodes = 10;
constexpr double kLearningRate = 1e-3;
constexpr double kEntropyCost = 1e-3;
constexpr double kNoRoom = 2;  // cost of an episode that finds no room, by that of the worst that did

/// A plan that was measured.
struct PlanRecord {
  std::size_t task = 0;
  std::vector<std::uint32_t> device;  // by table
  Matrix parts;                       // units
  double total = 0;
};

/// Less cost is better: by how many deviations below the mean. Empty where no episode found room.
Vector advantages_of(const DreamShardEpisodes& played) {
  double worst = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < played.plans.size(); ++i) {
    worst = played.plans[i] ? std::max(worst, played.totals[i]) : worst;
  }
  if (std::isinf(worst)) {
    return {};
  }
  Vector costs(static_cast<Eigen::Index>(played.plans.size()));
  for (std::size_t i = 0; i < played.plans.size(); ++i) {
    costs[static_cast<Eigen::Index>(i)] = played.plans[i] ? played.totals[i] : kNoRoom * worst;
  }
  const Eigen::ArrayXd above = costs.array() - costs.mean();
  const double deviation = std::sqrt(above.square().mean());
  constexpr double kLeastDeviation = 1e-9;
  return -above / (deviation + kLeastDeviation);
}

class DreamShardTraining {
 public:
  DreamShardTraining(LearningTasks learning, const TrainingOptions& options)
      : learning_{std::move(learning)},
        options_{options},
        policy_{std::make_unique<DreamShardPolicy>(learning_.scale, options.seed)},
        draws_{options.seed, "DreamShard's episodes"},
        policy_steps_{policy_->policy_parameters()},
        cost_steps_{policy_->cost_parameters()} {}

  std::unique_ptr<PlacementPolicy> run(int rounds) && {
    for (int round = 0; round < rounds && !options_.stopped(); ++round) {
      const double rate = kLearningRate * (1 - static_cast<double>(round) / rounds);
      const double cost = measure();
      for (int step = 0; step < kCostSteps && !records_.empty() && !options_.stopped(); ++step) {
        policy_->costs().learn(some_plans());
        cost_steps_.step(rate);
      }
      for (int step = 0; step < kPolicySteps && !options_.stopped(); ++step) {
        learn_policy(rate);
      }
      options_.progress({round + 1, rounds, cost});
    }
    round_to_single(policy_->parameters());
    return std::move(policy_);
  }

 private:
  [[nodiscard]] DreamShardEpisodes play(std::size_t number, std::size_t episodes) {
    const LearningTask& task = learning_.tasks[number];
    return policy_->play(task.task(), task.features, episodes,
                         [&](std::size_t, const Vector& p) { return drawn_choice(p, draws_.next()); });
  }

  /// Plans of the policy. @return their mean cost, in units
  double measure() {
    double sum = 0;
    int measured = 0;
    for (std::size_t i = 0; i < kPlans; ++i) {
      const std::size_t number = draws_.below(learning_.tasks.size());
      const auto plan = play(number, 1).plans.front();
      if (plan) {
        records_.push_back(record_of(number, *plan));
        sum += records_.back().total;
        ++measured;
      }
    }
    return measured > 0 ? sum / measured : 0;
  }

  PlanRecord record_of(std::size_t number, const Plan& plan) {
    const Estimate estimate = learning_.tasks[number].cost_model.estimate(plan);
    const Seconds unit = learning_.scale.unit;
    PlanRecord record{number, std::vector<std::uint32_t>(plan.pieces.size()),
                      Matrix(DreamShardCosts::kParts, static_cast<Eigen::Index>(estimate.compute.size())),
                      estimate.total / unit};
    for (const Piece& piece : plan.pieces) {
      record.device[piece.table] = piece.device;
    }
    for (std::size_t device = 0; device < estimate.compute.size(); ++device) {
      record.parts.col(static_cast<Eigen::Index>(device)) << estimate.compute[device] / unit,
          estimate.communication[device] / unit;
    }
    return record;
  }

  MeasuredPlans some_plans() {
    std::vector<const PlanRecord*> chosen;
    Eigen::Index tables = 0, devices = 0;
    for (std::size_t i = 0; i < kCostBatch; ++i) {
      chosen.push_back(&records_[draws_.below(records_.size())]);
      tables += static_cast<Eigen::Index>(chosen.back()->device.size());
      devices += chosen.back()->parts.cols();
    }
    MeasuredPlans measured{Matrix(kFeatures, tables),
                           {},
                           {},
                           Matrix(DreamShardCosts::kParts, devices),
                           Vector(static_cast<Eigen::Index>(kCostBatch))};
    for (const PlanRecord* record : chosen) {
      add(*record, measured);
    }
    return measured;
  }

  void add(const PlanRecord& record, MeasuredPlans& measured) const {
    const Eigen::Index plan = measured.plan.empty() ? 0 : measured.plan.back() + 1;
    const auto first = static_cast<Eigen::Index>(measured.plan.size());
    const auto table = static_cast<Eigen::Index>(measured.device.size());
    const Matrix& features = learning_.tasks[record.task].features;
    measured.features.middleCols(table, features.cols()) = features;
    for (const std::uint32_t device : record.device) {
      measured.device.push_back(first + static_cast<Eigen::Index>(device));
    }
    measured.parts.middleCols(first, record.parts.cols()) = record.parts;
    measured.plan.insert(measured.plan.end(), static_cast<std::size_t>(record.parts.cols()), plan);
    measured.totals[plan] = record.total;
  }

  void learn_policy(double rate) {
    const std::size_t number = draws_.below(learning_.tasks.size());
    const DreamShardEpisodes played = play(number, kEpisodes);
    const Vector advantages = advantages_of(played);
    if (advantages.size() > 0) {
      policy_->learn(learning_.tasks[number].features, played, advantages, kEntropyCost);
      policy_steps_.step(rate);
    }
  }

  LearningTasks learning_;
  const TrainingOptions& options_;
  std::unique_ptr<DreamShardPolicy> policy_;
  DrawSequence draws_;
  Adam policy_steps_, cost_steps_;
  std::vector<PlanRecord> records_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> train_dreamshard(std::span<const Task> tasks, const CostModel& costs,
                                                  const TrainingOptions& options) {
  const int rounds = options.rounds > 0 ? options.rounds : kDreamShardRounds;
  return DreamShardTraining{learning_tasks(tasks, costs), options}.run(rounds);
}

}  // namespace lockstep::sharding::learned
