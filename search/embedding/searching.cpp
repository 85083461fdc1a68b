#include "search/embedding/searching.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "search/embedding/own_plan.hpp"
#include "search/embedding/refinement.hpp"

namespace lockstep {
namespace {

/// The plan of a method that makes one.
/// @param networks of NeuroShard's methods; null: none
/// @param found is called with it as soon as it is made
std::vector<Candidate> candidates_of(const sharding::Method& method, const ShardingProblem& problem,
                                     const sharding::SearchOptions& options,
                                     const sharding::NetworkCosts* networks,
                                     const std::function<void(Candidate&)>& found) {
  auto candidate = networks != nullptr && method.name.starts_with("neuroshard")
                       ? candidate_by_networks(method, problem, options, *networks)
                       : candidate_by(method, problem, options);
  if (!candidate) {
    return {};
  }
  found(*candidate);
  return {*std::move(candidate)};
}

// Effort is counted in seconds of one core, as measured with 4 to 64 GPUs (within a factor of two; 64 GPUs
// take longer): what was done decides where a search ends, not how long it took.
constexpr double kUsualEffort = 14;
constexpr double kShareOfMaking = 0.65;  // of effort and time, where what was made is refined after it
constexpr double kQuestion = 0.2e-6, kQuestionOfDevice = 0.025e-6, kSimulationOfRank = 0.2e-3;

}  // namespace

Searching::Searching(const ShardingProblem& problem, const Progress& progress, BestSoFar& best,
                     const SearchLimits& limits, std::uint64_t seed)
    : problem_{problem},
      simulator_{problem},
      progress_{progress},
      best_{best},
      limits_{limits},
      began_{std::chrono::steady_clock::now()} {
  options_.seed = seed;
  options_.stopped = [this] { return is_over(); };
}

double Searching::effort() const {
  const auto devices = static_cast<double>(problem_.task().devices());
  return questions_ * (kQuestion + kQuestionOfDevice * devices) +
         static_cast<double>(simulator_.simulations()) * kSimulationOfRank * devices;
}

bool Searching::is_out_of_time() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
  return limits_.budget && passed.count() >= share_ * (*limits_.budget / Seconds{1});
}

bool Searching::is_over() {
  const bool is_late = is_out_of_time();
  const bool is_spent = effort() >= share_ * limits_.effort * kUsualEffort;
  end_.time = end_.time || is_late;
  end_.effort = end_.effort || is_spent;
  return is_late || is_spent;
}

const char* Searching::end_in_words() const {
  return end_.time ? "the time was up" : "the effort was spent";
}

void Searching::keep_some_for_refining() {
  share_ = kShareOfMaking;
}

void Searching::use(const PolicyRequest& request,
                    std::shared_ptr<const sharding::learned::PlacementPolicy> policy) {
  request_ = request;
  options_.policy = std::move(policy);
  if (options_.policy && options_.policy->scale().batch != problem_.task().batch) {
    fmt::print(stderr, "{}: trained with {} samples a step, used with {}\n", request_.weights,
               options_.policy->scale().batch, problem_.task().batch);
  }
}

void Searching::judge_own() {
  if (auto own = own_plan(problem_, simulator_)) {
    best_.offer(*own);
    all_.push_back(*std::move(own));
  }
}

void Searching::run(const sharding::Method& method, bool asked) {
  if (!asked && is_over() && any_step()) {
    left_out_.emplace_back(method.name);
    return;
  }
  if (learns(method) && !options_.policy) {
    train(method);
  }
  progress_.say(fmt::format("{}: searching", method.name));
  sharding::SearchOptions options = options_;
  if (method.name == "exact") {  // for which it is the size of what it can prove
    options.effort = std::llround(static_cast<double>(options.effort) * limits_.effort);
  }
  bool is_cut_short = false;
  options.stopped = [&] {
    is_cut_short = is_over();
    return is_cut_short;
  };
  const auto judge = [&](Candidate& candidate) { simulate(candidate, asked); };
  std::vector<Candidate> found =
      method.name == "lockstep"
          ? our_candidates(problem_, options, judge, {limits_.jobs - 1, [this] { return is_out_of_time(); }})
          : candidates_of(method, problem_, options, networks_.get(), judge);
  if (found.empty()) {
    found.push_back({.name = std::string{method.name}, .plan = {}, .step = {}});
    std::string& why = found.back().why_no_step;
    why = why_no_plan(method, problem_);
    if (why.empty()) {
      why = is_cut_short ? fmt::format("none found before {}", end_in_words()) : "none fits";
    }
  }
  std::ranges::move(found, std::back_inserter(all_));
}

void Searching::refine() {
  share_ = 1;
  if (is_over()) {
    return;
  }
  progress_.say("refining the fastest plans");
  RefinementOptions options;
  options.seed = options_.seed;
  options.stopped = options_.stopped;
  options.found = [this](const Candidate& candidate) { best_.offer(candidate); };
  for (Candidate& candidate : fastest_refined(problem_, simulator_, all_, options)) {
    all_.push_back(std::move(candidate));
  }
}

SearchResult Searching::result() && {
  return {std::move(all_), std::move(left_out_), end_};
}

bool Searching::any_step() const {
  return std::ranges::any_of(all_, [](const Candidate& candidate) { return candidate.step.has_value(); });
}

void Searching::train(const sharding::Method& method) {
  progress_.say(fmt::format("{}: training", method.name));
  options_.policy = policy_by_training(method, problem_, options_, request_, progress_);
  if (is_out_of_time()) {
    progress_.done();
    fmt::print(stderr, "{}: the budget ended the training; with more it would place better\n", method.name);
  }
}

void Searching::simulate(Candidate& candidate, bool asked) {
  questions_ += static_cast<double>(candidate.questions);
  if (candidate.plan.tables.empty()) {
    return;
  }
  if (!asked && is_over() && any_step()) {
    candidate.why_no_step = fmt::format("not simulated before {}", end_in_words());
    return;
  }
  progress_.say(fmt::format("{}: simulating", candidate.name));
  candidate.step = simulator_.step_time(candidate.plan);
  if (!candidate.step) {
    candidate.why_no_step = "not simulated: the step needs more memory than there is";
  }
  best_.offer(candidate);
}

}  // namespace lockstep
