#include "search/learned/dreamshard_policy.hpp"

#include <utility>

#include "search/learned/choice.hpp"

namespace lockstep::sharding::learned {
namespace {

constexpr Eigen::Index kParts = DreamShardCosts::kParts;
constexpr Eigen::Index kOwn = 32;  // numbers that the predicted parts become

Matrix scoring_inputs_of(const Matrix& sums, const Matrix& own) {
  Matrix inputs(sums.rows() + own.rows(), sums.cols());
  inputs << sums, own;
  return inputs;
}

/// Vectors of a task's tables, by the policy and by the cost network.
struct Vectors {
  Matrix of_policy, of_costs;
};

/// The tables that all devices of all episodes hold at a step, as sums of their vectors.
struct Holding {
  Matrix sums;   ///< the policy's vectors
  Matrix costs;  ///< the cost network's
  Matrix parts;
  std::vector<Placing> placings;
  std::vector<bool> is_over;

  Holding(const Task& task, std::size_t episodes, const DreamShardCosts& network)
      : sums{Matrix::Zero(kTableVector, static_cast<Eigen::Index>(episodes * task.devices()))},
        costs{sums},
        parts{network.parts(costs)},
        placings(episodes, Placing{task}),
        is_over(episodes) {}

  [[nodiscard]] Eigen::Index devices() const {
    return sums.cols() / static_cast<Eigen::Index>(placings.size());
  }
  [[nodiscard]] Eigen::Index first_of(std::size_t episode) const {
    return static_cast<Eigen::Index>(episode) * devices();
  }

  void put(std::uint32_t table, std::uint32_t device, std::size_t episode, const Vectors& vectors) {
    placings[episode].put(table, device);
    const Eigen::Index column = first_of(episode) + static_cast<Eigen::Index>(device);
    sums.col(column) += vectors.of_policy.col(table);
    costs.col(column) += vectors.of_costs.col(table);
  }
};

DreamShardEpisodes blank_episodes(std::vector<std::uint32_t> order, std::size_t episodes,
                                  Eigen::Index devices) {
  const auto choices = static_cast<Eigen::Index>(order.size() * episodes);
  return {std::move(order),
          Matrix(kTableVector, choices * devices),
          Matrix(kParts, choices * devices),
          Matrix::Zero(devices, choices),
          {},
          std::vector<std::optional<Plan>>(episodes),
          std::vector<double>(episodes)};
}

/// Plans, and what they are thought to cost.
void conclude(DreamShardEpisodes& played, const Holding& holding, const DreamShardCosts& network) {
  for (std::size_t episode = 0; episode < holding.placings.size(); ++episode) {
    if (!holding.is_over[episode]) {
      played.plans[episode] = holding.placings[episode].plan();
      played.totals[episode] =
          network.total(holding.costs.middleCols(holding.first_of(episode), holding.devices()));
    }
  }
}

/// The gradient by the tables' vectors, from those by the devices' sums at each step.
Matrix gradient_of_tables(const DreamShardEpisodes& played, const Matrix& by_sums) {
  const auto steps = static_cast<Eigen::Index>(played.order.size());
  const Eigen::Index devices = played.probabilities.rows();
  const Eigen::Index episodes = played.probabilities.cols() / steps;
  Matrix by_vectors = Matrix::Zero(by_sums.rows(), steps);
  Matrix later = Matrix::Zero(by_sums.rows(), episodes * devices);  // of the steps after this one
  for (Eigen::Index step = steps; step-- > 0;) {
    const auto table = static_cast<Eigen::Index>(played.order[static_cast<std::size_t>(step)]);
    for (Eigen::Index episode = 0; episode < episodes; ++episode) {
      const std::uint32_t device = played.chosen[static_cast<std::size_t>(step * episodes + episode)];
      if (device != DreamShardEpisodes::kOver) {
        by_vectors.col(table) += later.col(episode * devices + static_cast<Eigen::Index>(device));
      }
    }
    later += by_sums.middleCols(step * episodes * devices, episodes * devices);
  }
  return by_vectors;
}

}  // namespace

DreamShardPolicy::DreamShardPolicy(const PolicyScale& scale, std::uint64_t seed)
    : PlacementPolicy{scale},
      draws_{seed, "DreamShard's networks"},
      costs_{draws_},
      tables_{{kFeatures, 128, kTableVector}, Dense::End::Relu, draws_},
      parts_{{kParts, 64, kOwn}, Dense::End::Linear, draws_},
      score_{{kTableVector + kOwn, 1}, Dense::End::Linear, draws_} {}

std::vector<NamedParameter> DreamShardPolicy::cost_parameters() {
  std::vector<NamedParameter> all;
  costs_.list(all);
  return all;
}

std::vector<NamedParameter> DreamShardPolicy::policy_parameters() {
  std::vector<NamedParameter> all;
  tables_.list("policy.tables", all);
  parts_.list("policy.parts", all);
  score_.list("policy.score", all);
  return all;
}

std::vector<NamedParameter> DreamShardPolicy::parameters() {
  std::vector<NamedParameter> all = cost_parameters();
  for (NamedParameter& of_policy : policy_parameters()) {
    all.push_back(std::move(of_policy));
  }
  return all;
}

DreamShardEpisodes DreamShardPolicy::play(const Task& task, const Matrix& features, std::size_t episodes,
                                          const Choice& choice) const {
  const Vectors vectors{tables_(features), costs_.vectors(features)};
  Holding holding{task, episodes, costs_};
  const Eigen::Index width = holding.sums.cols();
  DreamShardEpisodes played =
      blank_episodes(costliest_first(costs_.parts(vectors.of_costs).colwise().sum().transpose()), episodes,
                     holding.devices());
  for (std::size_t step = 0; step < played.order.size(); ++step) {
    played.sums.middleCols(static_cast<Eigen::Index>(step) * width, width) = holding.sums;
    played.parts.middleCols(static_cast<Eigen::Index>(step) * width, width) = holding.parts;
    const Matrix scores = score_(scoring_inputs_of(holding.sums, parts_(holding.parts)));
    const std::uint32_t table = played.order[step];
    for (std::size_t episode = 0; episode < episodes; ++episode) {
      Placing& placing = holding.placings[episode];
      holding.is_over[episode] = holding.is_over[episode] || !placing.has_room(table);
      if (holding.is_over[episode]) {
        played.chosen.push_back(DreamShardEpisodes::kOver);
        continue;
      }
      const Eigen::Index first = holding.first_of(episode);
      const Vector probabilities =
          probabilities_of(scores.row(0).segment(first, holding.devices()).transpose(), placing.room());
      played.probabilities.col(static_cast<Eigen::Index>(played.chosen.size())) = probabilities;
      played.chosen.push_back(choice(episode, probabilities));
      holding.put(table, played.chosen.back(), episode, vectors);
      const Eigen::Index changed = first + static_cast<Eigen::Index>(played.chosen.back());
      holding.parts.col(changed) = costs_.parts(holding.costs.col(changed));
    }
  }
  conclude(played, holding, costs_);
  return played;
}

std::optional<Plan> DreamShardPolicy::place(const Task& task) const {
  const Choice likeliest = [](std::size_t, const Vector& p) { return likeliest_choice(p); };
  return play(task, features_of(task), 1, likeliest).plans.front();
}

void DreamShardPolicy::learn(const Matrix& features, const DreamShardEpisodes& played,
                             const Vector& advantages, double entropy_cost) {
  const Eigen::Index devices = played.probabilities.rows();
  const Eigen::Index episodes = advantages.size();
  Dense::Passed through_tables, through_parts, through_score;
  tables_.forward(features, through_tables);
  const Matrix own = parts_.forward(played.parts, through_parts);
  score_.forward(scoring_inputs_of(played.sums, own), through_score);
  Matrix by_scores = Matrix::Zero(1, played.sums.cols());
  for (std::size_t choice = 0; choice < played.chosen.size(); ++choice) {
    const auto column = static_cast<Eigen::Index>(choice);
    if (played.chosen[choice] == DreamShardEpisodes::kOver) {
      continue;
    }
    const Lesson lesson{played.chosen[choice], advantages[column % episodes], entropy_cost};
    by_scores.middleCols(column * devices, devices) =
        gradient_of_choice(played.probabilities.col(column), lesson).transpose() /
        static_cast<double>(episodes);
  }
  const Matrix by_inputs = score_.backward(std::move(by_scores), through_score);
  parts_.backward(by_inputs.bottomRows(kOwn), through_parts);
  tables_.backward(gradient_of_tables(played, by_inputs.topRows(kTableVector)), through_tables);
}

}  // namespace lockstep::sharding::learned
