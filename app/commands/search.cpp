#include "app/commands/search.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "app/interruption.hpp"
#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "app/search/search_report.hpp"
#include "app/sweep/sweep_place.hpp"
#include "base/file.hpp"
#include "base/parse_units.hpp"
#include "base/progress.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/outcome.hpp"
#include "search/embedding/best_so_far.hpp"
#include "search/embedding/device_loads.hpp"
#include "search/embedding/searching.hpp"
#include "search/embedding/why_nothing_fits.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
constexpr const char* kOurs = "lockstep";

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

/// The methods that a search with @p name compares: that one and the rules that it has to beat.
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

void write_files(const ShardingProblem& problem, const SearchResult& result, const Candidate& best,
                 const fs::path& folder) {
  const std::string title = problem.resolved().scenario.name + ": " + best.name;
  write_whole_file(folder / "plan.json", sharding::plan_json(best.plan));
  if (!is_hugectr(problem)) {
    write_whole_file(folder / "torchrec_plan.json",
                     sharding::torchrec_json(best.plan, problem.extents(), problem.ranks_of_node()));
  }
  const std::string picture = load_picture(device_loads(problem, best.plan), title);
  write_whole_file(folder / "load.svg", picture);
  Page page{"search", problem.resolved().scenario.name, search_sentence(result, best),
            search_json(result, best)};
  page.pictures.push_back({"load of each rank", picture});
  page.scenario = plan_text(best.plan, title);
  write_whole_file(folder / kReportPage, page_html(page));
  write_whole_file(folder / "plan.yaml", plan_text(best.plan, title));
}

/// Names of what `search` writes into its folder.
bool is_of_search(const std::string& name) {
  return name == "plan.yaml" || name == "plan.json" || name == "torchrec_plan.json" || name == "load.svg" ||
         name == kReportPage;
}

/// The search's answer: the plan of the method that was asked for, and of no other.
/// @throws InputError where there is none, with the reason
const Candidate& best_or_error(const ShardingProblem& problem, const SearchResult& result,
                               const SearchCommandOptions& command, const fs::path& path) {
  const std::string& method = command.method;
  if (const Candidate* const best = result.best_of(method)) {
    return *best;
  }
  const Candidate* const other = result.best_of("all");
  const std::string late = result.end.time ? "time was up (--budget) before one was found; so far: " : "";
  if (other == nullptr) {
    throw InputError{{path.string()},
                     fmt::format("{} finds no plan that fits: {}{}", method, late,
                                 why_nothing_fits(problem, result.candidates))};
  }
  throw InputError{{path.string()},
                   fmt::format("{} finds no plan: {}; {} has one, and --method lockstep the best of all",
                               method, result.why_none(method), other->name)};
}

/// @throws std::invalid_argument for a method that asks none; InputError for networks of other machines
std::shared_ptr<const sharding::NetworkCosts> networks_of(const SearchCommandOptions& options,
                                                          const ShardingProblem& problem) {
  if (options.costs.empty()) {
    return nullptr;
  }
  auto networks =
      std::make_shared<const sharding::NetworkCosts>(sharding::NetworkCosts::from_file(options.costs));
  if (networks->devices() != problem.task().devices()) {
    throw InputError{{options.costs},
                     fmt::format("the networks are for {} GPUs, the scenario has {} ranks",
                                 networks->devices(), problem.task().devices())};
  }
  return networks;
}

/// CLI11 takes -1 for the largest number that there is. @return what is wrong
std::string whole_number(const std::string& text) {
  const bool is_whole = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_whole ? "" : fmt::format("{} is not a whole number from 0 on, e.g. 7", text);
}

std::string more_than_nothing(const std::string& text) {
  double factor = 0;
  const bool is_more = CLI::detail::lexical_cast(text, factor) && factor > 0;
  return is_more ? "" : fmt::format("{} is not more than 0; 4 looks four times as far as usual", text);
}

/// Puts the plan in place as plan.yaml, and says so on stderr; leaves the folder as it was where there is
/// none.
void keep(const std::optional<Candidate>& best, ResultFolder& folder, const std::string& scenario) {
  if (!best) {
    folder.abandon();
    return;
  }
  write_whole_file(folder.staged() / "plan.yaml", plan_text(best->plan, scenario + ": " + best->name));
  folder.commit();
  fmt::print(stderr, "\nstopped: the best plan so far ({}, {} a step) is {}\n", best->name, *best->step,
             (folder.path() / "plan.yaml").string());
}

}  // namespace

int search_command(const SearchCommandOptions& options) {
  const std::vector<sharding::Method> chosen = methods_for(options.method);
  const auto policy = policy_from_file(options.policy, options.method);
  if (!options.costs.empty() && !options.method.starts_with("neuroshard")) {
    throw std::invalid_argument{fmt::format(
        "--costs: {} asks no networks; --method neuroshard and neuroshard_table_wise can", options.method)};
  }
  const Progress progress{options.quiet};
  auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  progress.say("building " + path.string());
  const ShardingProblem problem{std::move(document), configs};
  ResultFolder folder{result_folder(options.folder, path), is_of_search};
  check_outputs({options.policy.save_weights, options.json});
  BestSoFar best_so_far;
  const Interruption interruption{
      [&] { keep(best_so_far.best(), folder, problem.resolved().scenario.name); }};
  Searching searching{problem, progress, best_so_far, options.limits, options.seed};
  searching.use(options.policy, policy);
  searching.ask(networks_of(options, problem));
  const bool refines = options.method == kOurs || options.method == "all";
  if (refines) {
    searching.keep_some_for_refining();
  }
  searching.judge_own();
  for (const sharding::Method& method : chosen) {
    searching.run(method, !refines && method.name == options.method);
  }
  if (refines) {
    searching.refine();
  }
  progress.done();
  const SearchResult result = std::move(searching).result();
  const Candidate& best = best_or_error(problem, result, options, path);
  write_files(problem, result, best, folder.staged());
  folder.commit();
  if (options.json == "-") {
    fmt::print("{}", search_json(result, best));
  } else {
    if (!options.json.empty()) {
      write_whole_file(options.json, search_json(result, best));
    }
    fmt::print("{}", search_text(problem, result, best));
  }
  if (!options.quiet) {
    fmt::print(
        stderr,
        "\nin {}: plan.yaml (for parallelism.embedding.plan), plan.json, {}load.svg\nlook at them: {}\n",
        folder.path().string(), is_hugectr(problem) ? "" : "torchrec_plan.json, ",
        (folder.path() / kReportPage).string());
  }
  return kExitOk;
}

void add_search_command(CLI::App& app, std::function<int()>& action) {
  constexpr std::size_t kMostJobs = 1000;  // beyond it something was mistyped
  const auto options = std::make_shared<SearchCommandOptions>();
  options->limits.jobs = static_cast<std::size_t>(usual_jobs({}, process_environment()));
  const auto assignments = std::make_shared<std::vector<std::string>>();
  const auto budget = std::make_shared<std::string>();
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
      "  lockstep search my/scenario.yaml -o best --effort 4 --seed 7\n"
      "  lockstep run my/scenario.yaml --set parallelism.embedding.plan=best/plan.yaml");
  command
      ->add_option("SCENARIO", options->scenario,
                   "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command->add_option("--method", options->method, known);
  command
      ->add_option("--effort", options->limits.effort,
                   "how much to look at, times the usual, which takes some 10 s of a core at most")
      ->check(CLI::Validator{more_than_nothing, "FACTOR"})
      ->capture_default_str();
  command->add_option("--budget", *budget,
                      "time that ends the search even so, e.g. 10s: then the plan depends on the machine");
  command->add_option("-j,--jobs", options->limits.jobs, "threads that make plans (default: cores)")
      ->check(CLI::Range(std::size_t{1}, kMostJobs));
  command->add_option("--seed", options->seed, "of the search's random choices")
      ->check(CLI::Validator{whole_number, "NUMBER"})
      ->capture_default_str();
  command->add_option("--weights", options->policy.weights,
                      "policy that --save-weights saved, instead of training one (autoshard, dreamshard)");
  command->add_option("--save-weights", options->policy.save_weights, "file for the policy that was trained");
  command->add_option(
      "--costs", options->costs,
      "file of NeuroShard's cost networks, which its methods ask in place of Lockstep's models");
  command->add_option("-o,--output", options->folder, "folder for the plan (default: lockstep-out/NAME)");
  command->add_option("--set", *assignments, "KEY=VALUE: override a value of the scenario")
      ->allow_extra_args(false);
  command->add_option("--json", options->json, "the result as JSON; - for stdout instead of the text");
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([options, assignments, budget, &action] {
    action = [options, assignments, budget] {
      if (!budget->empty()) {
        options->limits.budget = budget_of(*budget);
      }
      options->overrides = overrides_of(*assignments);
      return search_command(*options);
    };
  });
}

}  // namespace lockstep
