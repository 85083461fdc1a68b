#include <algorithm>
#include <cstdint>
#include <utility>

#include "search/learned/adam.hpp"
#include "search/learned/autoshard_policy.hpp"
#include "search/learned/choice.hpp"
#include "search/learned/learning_tasks.hpp"
#include "search/learned/training.hpp"

namespace lockstep::sharding::learned {
namespace {

// AutoShard's values (../shared/reference/sharding.md, 3), but for the batch of the cost network. That is 512
// there, which takes longer than all else together.
constexpr int kEpisodes = 8;
constexpr int kCostSteps = 20;
constexpr std::size_t kCostBatch = 64;
constexpr std::size_t kRemembered = 5000;
constexpr double kLearningRate = 1e-3;
constexpr double kEntropyCost = 1e-3;
constexpr double kLongestGradient = 40;

/// A device that was measured.
struct Shard {
  std::size_t task = 0;
  std::vector<std::uint32_t> tables;
  double cost = 0;  // units
};

class AutoShardTraining {
 public:
  AutoShardTraining(LearningTasks learning, const TrainingOptions& options)
      : learning_{std::move(learning)},
        options_{options},
        policy_{std::make_unique<AutoShardPolicy>(learning_.scale, options.seed)},
        draws_{options.seed, "AutoShard's episodes"},
        policy_steps_{policy_->policy_parameters()},
        cost_steps_{policy_->cost_parameters()} {}

  std::unique_ptr<PlacementPolicy> run(int rounds) && {
    for (int round = 0; round < rounds && !options_.stopped(); ++round) {
      const double rate = kLearningRate * (1 - static_cast<double>(round) / rounds);
      const double reward = play_and_learn(rate);
      learn_costs(rate);
      options_.progress({round + 1, rounds, reward});
    }
    round_to_single(policy_->parameters());
    return std::move(policy_);
  }

 private:
  double play_and_learn(double rate) {
    double sum = 0;
    for (int i = 0; i < kEpisodes; ++i) {
      const std::size_t number = draws_.below(learning_.tasks.size());
      LearningTask& task = learning_.tasks[number];
      const auto episode = policy_->play(task.task(), task.features, [&](std::size_t, const Vector& p) {
        return drawn_choice(p, draws_.next());
      });
      const double reward = episode.plan ? balance(number, *episode.plan) : -episode.lacking;
      policy_->learn(episode, reward, kEntropyCost);
      sum += reward;
    }
    policy_steps_.clip(kLongestGradient);
    policy_steps_.step(rate);
    return sum / kEpisodes;
  }

  /// Least by most time of a device; remembers what was measured.
  double balance(std::size_t number, const Plan& plan) {
    CachedCostModel& cost_model = learning_.tasks[number].cost_model;
    std::vector<Shard> shards(cost_model.task().devices(), Shard{number, {}, 0});
    std::vector<Load> loads(cost_model.task().devices());
    for (const Piece& piece : plan.pieces) {
      shards[piece.device].tables.push_back(piece.table);
      loads[piece.device].add(cost_model.load_of(piece));
    }
    for (std::size_t device = 0; device < shards.size(); ++device) {
      shards[device].cost = cost_model.compute(loads[device]) / learning_.scale.unit;
    }
    const auto [least, most] = std::ranges::minmax_element(shards, {}, &Shard::cost);
    const double reward = most->cost > 0 ? least->cost / most->cost : 1;
    for (Shard& shard : shards) {
      remember(std::move(shard));
    }
    return reward;
  }

  void remember(Shard shard) {
    if (remembered_.size() < kRemembered) {
      remembered_.push_back(std::move(shard));
    } else {
      remembered_[next_] = std::move(shard);
      next_ = (next_ + 1) % kRemembered;
    }
  }

  void learn_costs(double rate) {
    for (int step = 0; step < kCostSteps && !remembered_.empty(); ++step) {
      policy_->costs().learn(some_shards());
      cost_steps_.step(rate);
    }
  }

  MeasuredShards some_shards() {
    std::vector<const Shard*> chosen;
    std::size_t tables = 0;
    for (std::size_t i = 0; i < kCostBatch; ++i) {
      chosen.push_back(&remembered_[draws_.below(remembered_.size())]);
      tables += chosen.back()->tables.size();
    }
    MeasuredShards measured{Matrix(kFeatures, static_cast<Eigen::Index>(tables)),
                            {},
                            Vector(static_cast<Eigen::Index>(kCostBatch))};
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto shard = static_cast<Eigen::Index>(i);
      measured.costs[shard] = chosen[i]->cost;
      for (const std::uint32_t table : chosen[i]->tables) {
        measured.features.col(static_cast<Eigen::Index>(measured.shard.size())) =
            learning_.tasks[chosen[i]->task].features.col(static_cast<Eigen::Index>(table));
        measured.shard.push_back(shard);
      }
    }
    return measured;
  }

  LearningTasks learning_;
  const TrainingOptions& options_;
  std::unique_ptr<AutoShardPolicy> policy_;
  DrawSequence draws_;
  Adam policy_steps_, cost_steps_;
  std::vector<Shard> remembered_;
  std::size_t next_ = 0;  // the oldest, once all places are taken
};

}  // namespace

std::unique_ptr<PlacementPolicy> train_autoshard(std::span<const Task> tasks, const CostModel& costs,
                                                 const TrainingOptions& options) {
  const int rounds = options.rounds > 0 ? options.rounds : kAutoShardRounds;
  return AutoShardTraining{learning_tasks(tasks, costs), options}.run(rounds);
}

}  // namespace lockstep::sharding::learned
