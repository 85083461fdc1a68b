#include "app/commands/search.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>

#include "app/interruption.hpp"
#include "app/opened_scenario.hpp"
#include "app/outcome.hpp"
#include "app/progress.hpp"
#include "app/result_folder.hpp"
#include "app/search/left_out_plans.hpp"
#include "app/search/refinement.hpp"
#include "app/search/search_report.hpp"
#include "base/file.hpp"
#include "base/parse_units.hpp"

namespace lockstep {
namespace {

/// What a finished search writes beside plan.yaml.
constexpr std::array kOtherFiles{"plan.json", "torchrec_plan.json", "load.svg"};

namespace fs = std::filesystem;
constexpr const char* kOurs = "lockstep";
constexpr const char* kTrainingBudget = "5 min";

/// Time that is left. A search that it cuts short may give another plan on another day.
class Budget {
 public:
  explicit Budget(Seconds budget)
      : end_{std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>{budget / Seconds{1}})} {}

  [[nodiscard]] bool is_spent() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

Seconds budget_of(const std::string& text) {
  Seconds budget;
  try {
    parse(text, budget);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{fmt::format("--budget {}: {}", text, problem.what())};
  }
  if (!(budget > Seconds{0})) {
    throw std::invalid_argument{fmt::format("--budget {}: a search needs more than no time", text)};
  }
  return budget;
}

/// The best plan so far, where Ctrl-C finds it.
class BestSoFar {
 public:
  void offer(const Candidate& candidate) {
    const std::scoped_lock lock{mutex_};
    if (candidate.step && (!best_ || *candidate.step < *best_->step)) {
      best_ = candidate;
    }
  }

  void keep_in(const fs::path& folder, const std::string& scenario) {
    const std::scoped_lock lock{mutex_};
    if (best_) {
      for (const char* file : kOtherFiles) {  // of a search before: no plan beside another's
        fs::remove(folder / file);
      }
      write_whole_file(folder / "plan.yaml", plan_text(best_->plan, scenario + ": " + best_->name));
      fmt::print(stderr, "\nstopped: the best plan so far ({}, {} a step) is {}\n", best_->name, *best_->step,
                 (folder / "plan.yaml").string());
    }
  }

 private:
  std::mutex mutex_;
  std::optional<Candidate> best_;
};

/// @param found is called with each as soon as it is made
std::vector<Candidate> candidates_of(const sharding::Method& method, const ShardingProblem& problem,
                                     const sharding::SearchOptions& options,
                                     const std::function<void(Candidate&)>& found) {
  if (method.name == kOurs) {
    return our_candidates(problem, options, found);
  }
  auto candidate = candidate_by(method, problem, options);
  if (!candidate) {
    return {};
  }
  found(*candidate);
  return {*std::move(candidate)};
}

/// Searches and simulates: the simple rules first, for they are what the others are compared with.
class Searching {
 public:
  Searching(const ShardingProblem& problem, const SearchCommandOptions& command, const Progress& progress,
            BestSoFar& best)
      : problem_{problem},
        simulator_{problem},
        progress_{progress},
        best_{best},
        budget_{budget_of(command.budget)} {
    options_.seed = command.seed;
    options_.stopped = [this] { return budget_.is_spent(); };
  }

  /// What a method that learns has, or is to save. @param policy null: it is trained
  void use(const PolicyRequest& request, std::shared_ptr<const sharding::learned::PlacementPolicy> policy) {
    request_ = request;
    options_.policy = std::move(policy);
    if (options_.policy && options_.policy->scale().batch != problem_.task().batch) {
      fmt::print(stderr, "{}: trained with {} samples a step, used with {}\n", request_.weights,
                 options_.policy->scale().batch, problem_.task().batch);
    }
  }

  void run(const sharding::Method& method) {
    if (is_late_for(method)) {
      left_out_.emplace_back(method.name);
      return;
    }
    if (learns(method) && !options_.policy) {
      train(method);
    }
    progress_.say(fmt::format("{}: searching", method.name));
    std::vector<Candidate> found =
        candidates_of(method, problem_, options_, [&](Candidate& candidate) { simulate(candidate, method); });
    if (found.empty()) {
      found.push_back({std::string{method.name}, {}, {}, 0});
    }
    std::ranges::move(found, std::back_inserter(all_));
  }

  /// The last moves, judged by simulation, of the best plans so far.
  void refine() {
    if (budget_.is_spent()) {
      return;
    }
    progress_.say("refining the fastest plans");
    RefinementOptions options;
    options.seed = options_.seed;
    options.stopped = options_.stopped;
    for (Candidate& candidate : fastest_refined(problem_, simulator_, all_, options)) {
      best_.offer(candidate);
      all_.push_back(std::move(candidate));
    }
  }

  [[nodiscard]] SearchResult result() && {
    return {std::move(all_), std::move(left_out_), budget_.is_spent()};
  }

 private:
  [[nodiscard]] bool any_step() const {
    return std::ranges::any_of(all_, [](const Candidate& candidate) { return candidate.step.has_value(); });
  }

  /// What was learnt in the time there was is used.
  [[nodiscard]] bool is_late_for(const sharding::Method& method) const {
    return budget_.is_spent() && any_step() && !learns(method);
  }

  void train(const sharding::Method& method) {
    progress_.say(fmt::format("{}: training", method.name));
    options_.policy = policy_by_training(method, problem_, options_, request_, progress_);
    if (budget_.is_spent()) {
      progress_.done();
      fmt::print(stderr, "{}: the budget ended the training; with more it would place better\n", method.name);
    }
  }

  void simulate(Candidate& candidate, const sharding::Method& method) {
    if (candidate.plan.tables.empty() || is_late_for(method)) {
      return;
    }
    progress_.say(fmt::format("{}: simulating", candidate.name));
    candidate.step = simulator_.step_time(candidate.plan);
    best_.offer(candidate);
  }

  const ShardingProblem& problem_;
  StepSimulator simulator_;
  const Progress& progress_;
  BestSoFar& best_;
  Budget budget_;
  sharding::SearchOptions options_;
  PolicyRequest request_;
  std::vector<Candidate> all_;
  std::vector<std::string> left_out_;
};

/// What a search with @p name compares: that method and the rules that it has to beat.
std::vector<sharding::Method> methods_for(const std::string& name) {
  const sharding::Method* const only = name == "all" ? nullptr : &sharding::method_called(name);
  std::vector<sharding::Method> chosen;
  for (const sharding::Method& method : sharding::methods()) {
    const bool is_baseline = method.name != "exact" && method.name != "random";
    if (only == nullptr || method.name == only->name || (is_baseline && method.name != kOurs)) {
      chosen.push_back(method);
    }
  }
  if (only != nullptr && learns(*only)) {
    chosen.push_back(*only);
  }
  return chosen;
}

void write_files(const ShardingProblem& problem, const Candidate& best, const fs::path& folder) {
  const std::string title = problem.setting().scenario.name + ": " + best.name;
  write_whole_file(folder / "plan.json", sharding::plan_json(best.plan));
  if (!is_hugectr(problem)) {
    write_whole_file(folder / "torchrec_plan.json",
                     sharding::torchrec_json(best.plan, problem.extents(), problem.ranks_of_node()));
  }
  write_whole_file(folder / "load.svg", load_picture(device_loads(problem, best.plan), title));
  write_whole_file(folder / "plan.yaml", plan_text(best.plan, title));
}

bool trains(const SearchCommandOptions& options) {
  return options.method != "all" && learns(sharding::method_called(options.method));
}

}  // namespace

int search_command(const SearchCommandOptions& options) {
  const std::vector<sharding::Method> chosen = methods_for(options.method);
  const auto policy = policy_from_file(options.policy, options.method);
  const Progress progress{options.quiet};
  auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  progress.say("building " + path.string());
  const ShardingProblem problem{std::move(document), configs};
  const fs::path folder = result_folder(options.folder, path);
  BestSoFar best_so_far;
  const Interruption interruption{[&] { best_so_far.keep_in(folder, problem.setting().scenario.name); }};
  Searching searching{problem, options, progress, best_so_far};
  searching.use(options.policy, policy);
  for (const sharding::Method& method : chosen) {
    searching.run(method);
  }
  if (options.method == kOurs || options.method == "all") {
    searching.refine();
  }
  progress.done();
  const SearchResult result = std::move(searching).result();
  const Candidate* const best = result.best_of(options.method);
  if (best == nullptr && options.method == "exact" && result.best_rule() != nullptr) {
    throw InputError{
        {path.string()},
        "exact goes through every placement of whole tables, and these are too many: it is for 10 tables "
        "or so; --method lockstep cuts, copies and moves tables besides"};
  }
  if (best == nullptr) {
    const std::string why = why_nothing_fits(problem);
    const bool has_rules = options.method != kOurs && options.method != "all";
    throw InputError{{path.string()},
                     fmt::format("{} finds no plan that fits{}: {}", options.method,
                                 has_rules ? " by its own rules (lockstep may, which cuts, copies and moves "
                                             "tables to host memory)"
                                           : "",
                                 why)};
  }
  fs::create_directories(folder);
  write_files(problem, *best, folder);
  fmt::print("{}", search_text(problem, result, *best));
  if (!options.quiet) {
    fmt::print(stderr, "\nin {}: plan.yaml (for parallelism.embedding.plan), plan.json, {}load.svg\n",
               folder.string(), is_hugectr(problem) ? "" : "torchrec_plan.json, ");
  }
  return kExitOk;
}

void add_search_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<SearchCommandOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("search", "the best plan for the embedding tables of a DLRM scenario");
  std::string known = "a method, with the simple rules to compare with, or all (default: lockstep):";
  for (const sharding::Method& method : sharding::methods()) {
    known += fmt::format(" {}", method.name);
  }
  known += "; with training first, not among all:";
  for (const sharding::Method& method : sharding::learned_methods()) {
    known += fmt::format(" {}", method.name);
  }
  command->footer(
      "examples:\n"
      "  lockstep search dlrm_default_8xv100\n"
      "  lockstep search my/scenario.yaml -o best --budget 1min --seed 7\n"
      "  lockstep run my/scenario.yaml --set parallelism.embedding.plan=best/plan.yaml");
  command
      ->add_option("SCENARIO", options->scenario, "a name of lockstep list, a scenario.yaml, or its folder")
      ->required();
  command->add_option("--method", options->method, known);
  command->add_option("--budget", options->budget,
                      "time to search in, e.g. 10s (default; 5min with training)");
  command->add_option("--seed", options->seed, "of the search's random choices (default 1)");
  command->add_option("--weights", options->policy.weights,
                      "policy that --save-weights saved, instead of training one (autoshard, dreamshard)");
  command->add_option("--save-weights", options->policy.save_weights, "file for the policy that was trained");
  command->add_option("-o,--output", options->folder, "folder for the plan (default: lockstep-out/NAME)");
  command->add_option("--set", *assignments, "KEY=VALUE: override a value of the scenario")
      ->allow_extra_args(false);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([options, assignments, command, &action] {
    action = [options, assignments, has_budget = command->count("--budget") > 0] {
      if (!has_budget && trains(*options)) {
        options->budget = kTrainingBudget;
      }
      options->overrides = overrides_of(*assignments);
      return search_command(*options);
    };
  });
}

}  // namespace lockstep
