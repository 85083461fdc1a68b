#include "search/embedding/learned_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"
#include "search/learned/methods.hpp"
#include "search/learned/weights_file.hpp"

namespace lockstep {

using sharding::learned::PlacementPolicy;

bool learns(const sharding::Method& method) {
  return std::ranges::any_of(sharding::learned_methods(),
                             [&](const sharding::Method& other) { return other.name == method.name; });
}

std::shared_ptr<const PlacementPolicy> policy_from_file(const PolicyRequest& request,
                                                        const std::string& method) {
  const bool asked = !request.weights.empty() || !request.save_weights.empty();
  if (asked && (method == "all" || !learns(sharding::method_called(method)))) {
    throw std::invalid_argument{fmt::format("--{}: {} learns nothing; --method autoshard and dreamshard do",
                                            request.weights.empty() ? "save-weights" : "weights", method)};
  }
  if (request.weights.empty()) {
    return nullptr;
  }
  if (!request.save_weights.empty()) {
    throw std::invalid_argument{
        "--save-weights: nothing is trained where --weights gives a policy; leave one of them out"};
  }
  std::shared_ptr<const PlacementPolicy> policy = sharding::learned::read_weights(request.weights);
  if (policy->method() != method) {
    throw InputError{{request.weights},
                     fmt::format("the policy is {}'s, the search is by {}: --method {} would use it",
                                 policy->method(), method, policy->method())};
  }
  return policy;
}

std::shared_ptr<const PlacementPolicy> policy_by_training(const sharding::Method& method,
                                                          const ShardingProblem& problem,
                                                          const sharding::SearchOptions& options,
                                                          const PolicyRequest& request,
                                                          const Progress& progress) {
  sharding::learned::TrainingOptions training;
  training.seed = options.seed;
  training.stopped = options.stopped;
  training.progress = [&](const sharding::learned::TrainingProgress& now) {
    progress.say(fmt::format("{}: trained {} of {} rounds, {} {:.3f}", method.name, now.done, now.rounds,
                             method.name == "autoshard" ? "balance" : "cost", now.figure));
  };
  const sharding::ModelCosts costs = problem.costs(1);
  std::shared_ptr<PlacementPolicy> policy =
      sharding::learned::trained_for(method.name, problem.task(), costs, training);
  if (!request.save_weights.empty()) {
    write_whole_file(request.save_weights, sharding::learned::weights_json(*policy));
  }
  return policy;
}

}  // namespace lockstep
