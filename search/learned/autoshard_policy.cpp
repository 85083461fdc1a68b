#include "search/learned/autoshard_policy.hpp"

#include <utility>

#include "search/learned/choice.hpp"

namespace lockstep::sharding::learned {
namespace {

constexpr Eigen::Index kState = 64;                   // of the LSTM, and of a device
constexpr Eigen::Index kOwn = kState - kTableVector;  // of it what is not a sum of table vectors
constexpr Eigen::Index kHidden = 64;
constexpr double kValueCost = 0.25;  // 1/2 (value - reward)^2, counted half

/// [ state, device, state x device ] for each device of each step.
Matrix scoring_inputs(const Matrix& states, const Matrix& sums, const Matrix& own) {
  const Eigen::Index devices = sums.cols() / states.cols();
  Matrix inputs(3 * kState, sums.cols());
  for (Eigen::Index step = 0; step < states.cols(); ++step) {
    inputs.block(0, step * devices, kState, devices) = states.col(step).replicate(1, devices);
  }
  inputs.middleRows(kState, kTableVector) = sums;
  inputs.middleRows(kState + kTableVector, kOwn) = own;
  inputs.bottomRows(kState) = inputs.topRows(kState).cwiseProduct(inputs.middleRows(kState, kState));
  return inputs;
}

/// The gradient by the scores of each device of each step.
Matrix gradient_of_scores(const AutoShardEpisode& episode, const Eigen::RowVectorXd& advantages,
                          double entropy_cost) {
  const Eigen::Index devices = episode.probabilities.rows();
  Matrix gradient(1, advantages.size() * devices);
  for (Eigen::Index step = 0; step < advantages.size(); ++step) {
    const Lesson lesson{episode.chosen[static_cast<std::size_t>(step)], advantages[step], entropy_cost};
    gradient.middleCols(step * devices, devices) =
        gradient_of_choice(episode.probabilities.col(step), lesson).transpose();
  }
  return gradient;
}

/// The gradient by the states, summed over the devices of each step.
Matrix gradient_of_states(const Matrix& by_inputs, const Matrix& inputs, Eigen::Index steps) {
  const Eigen::Index devices = inputs.cols() / steps;
  const Matrix each = by_inputs.topRows(kState) +
                      by_inputs.bottomRows(kState).cwiseProduct(inputs.middleRows(kState, kState));
  Matrix states(kState, steps);
  for (Eigen::Index step = 0; step < steps; ++step) {
    states.col(step) = each.middleCols(step * devices, devices).rowwise().sum();
  }
  return states;
}

/// The gradient by what a device's own network says of it.
Matrix gradient_of_own(const Matrix& by_inputs, const Matrix& inputs) {
  return by_inputs.middleRows(kState + kTableVector, kOwn) +
         by_inputs.bottomRows(kOwn).cwiseProduct(inputs.middleRows(kTableVector, kOwn));
}

}  // namespace

AutoShardPolicy::AutoShardPolicy(const PolicyScale& scale, std::uint64_t seed)
    : PlacementPolicy{scale},
      draws_{seed, "AutoShard's networks"},
      costs_{draws_},
      progress_{{1, kHidden, kOwn}, Dense::End::Linear, draws_},
      device_{{2, kHidden, kOwn}, Dense::End::Linear, draws_},
      score_{{3 * kState, 128, 128, 64, 1}, Dense::End::Linear, draws_},
      value_{{kState, kHidden, 1}, Dense::End::Linear, draws_},
      lower_{kState, kState, draws_},
      upper_{kState, kState, draws_} {}

std::vector<NamedParameter> AutoShardPolicy::cost_parameters() {
  std::vector<NamedParameter> all;
  costs_.list(all);
  return all;
}

std::vector<NamedParameter> AutoShardPolicy::policy_parameters() {
  std::vector<NamedParameter> all;
  progress_.list("policy.progress", all);
  device_.list("policy.device", all);
  score_.list("policy.score", all);
  value_.list("policy.value", all);
  lower_.list("policy.lstm.1", all);
  upper_.list("policy.lstm.2", all);
  return all;
}

std::vector<NamedParameter> AutoShardPolicy::parameters() {
  std::vector<NamedParameter> all = cost_parameters();
  for (NamedParameter& of_policy : policy_parameters()) {
    all.push_back(std::move(of_policy));
  }
  return all;
}

AutoShardEpisode AutoShardPolicy::not_played_yet(Eigen::Index tables, Eigen::Index devices) const {
  return {lower_.pass(tables),
          upper_.pass(tables),
          Matrix(1, tables),
          Matrix(kTableVector, tables * devices),
          Matrix(2, tables * devices),
          Matrix(devices, tables),
          {},
          {},
          0};
}

void AutoShardPolicy::decide(AutoShardEpisode& episode, Placing& placing, const Vector& state,
                             const Choice& choice) const {
  const auto devices = episode.probabilities.rows();
  const auto step = static_cast<Eigen::Index>(episode.chosen.size());
  const Matrix sums = episode.sums.middleCols(step * devices, devices);
  const Matrix own = device_(episode.devices.middleCols(step * devices, devices));
  const Vector scores = score_(scoring_inputs(state, sums, own)).row(0).transpose();
  episode.probabilities.col(step) = probabilities_of(scores, placing.room());
  episode.chosen.push_back(choice(static_cast<std::size_t>(step), episode.probabilities.col(step)));
}

AutoShardEpisode AutoShardPolicy::play(const Task& task, const Matrix& features, const Choice& choice) const {
  const Matrix vectors = costs_.vectors(features);
  const auto devices = static_cast<Eigen::Index>(task.devices());
  AutoShardEpisode episode = not_played_yet(vectors.cols(), devices);
  Placing placing{task};
  Matrix sums = Matrix::Zero(kTableVector, devices);
  Vector costs = costs_.of_sums(sums);
  Eigen::Index step = 0;
  for (const std::uint32_t table : costliest_first(costs_.of_sums(vectors))) {
    if (!placing.has_room(table)) {
      episode.lacking = placing.lacking(table);
      return episode;
    }
    episode.assigned(0, step) = static_cast<double>(step) / static_cast<double>(vectors.cols());
    episode.sums.middleCols(step * devices, devices) = sums;
    episode.devices.row(0).segment(step * devices, devices) = costs.transpose();
    for (Eigen::Index device = 0; device < devices; ++device) {
      episode.devices(1, step * devices + device) = placing.filled(static_cast<std::uint32_t>(device));
    }
    Vector seen(kState);
    seen << vectors.col(table), progress_(episode.assigned.col(step)).col(0);
    decide(episode, placing, upper_.step(lower_.step(seen, episode.lower), episode.upper), choice);
    const std::uint32_t device = episode.chosen.back();
    placing.put(table, device);
    sums.col(device) += vectors.col(table);
    costs[device] = costs_.of_sums(sums.col(device))[0];
    ++step;
  }
  episode.plan = placing.plan();
  return episode;
}

std::optional<Plan> AutoShardPolicy::place(const Task& task) const {
  const Choice likeliest = [](std::size_t, const Vector& p) { return likeliest_choice(p); };
  return play(task, features_of(task), likeliest).plan;
}

Vector AutoShardPolicy::learn(const AutoShardEpisode& episode, double reward, double entropy_cost) {
  const auto steps = static_cast<Eigen::Index>(episode.chosen.size());
  if (steps == 0) {
    return {};
  }
  const Eigen::Index devices = episode.probabilities.rows();
  Dense::Passed through_progress, through_device, through_score, through_value;
  progress_.forward(episode.assigned.leftCols(steps), through_progress);
  const Matrix own = device_.forward(episode.devices.leftCols(steps * devices), through_device);
  const Matrix states = episode.upper.outputs.leftCols(steps);
  const Matrix inputs = scoring_inputs(states, episode.sums.leftCols(steps * devices), own);
  score_.forward(inputs, through_score);
  const Matrix values = value_.forward(states, through_value);

  Matrix by_scores = gradient_of_scores(episode, (reward - values.row(0).array()).matrix(), entropy_cost);
  const Matrix by_inputs = score_.backward(std::move(by_scores), through_score);
  device_.backward(gradient_of_own(by_inputs, inputs), through_device);
  Matrix by_states = gradient_of_states(by_inputs, inputs, steps);
  by_states += value_.backward(2 * kValueCost * (values.array() - reward).matrix(), through_value);
  const Matrix by_seen = lower_.backward(upper_.backward(by_states, episode.upper), episode.lower);
  progress_.backward(by_seen.bottomRows(kOwn), through_progress);
  return values.row(0).transpose();
}

}  // namespace lockstep::sharding::learned
