#include "app/commands/search_plans.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "app/plans/plan_file.hpp"
#include "app/plans/plan_options.hpp"
#include "app/plans/plan_text.hpp"
#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "base/file.hpp"
#include "calibration/band.hpp"
#include "calibration/tie.hpp"
#include "import/launch_flags.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/outcome.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kMost = 1'000'000;  // beyond it something was mistyped

/// The number of `plan_3.yaml` or `launch_3.sh`; 0: of another name.
std::size_t number_of_plan(const std::string& name, std::string_view before, std::string_view behind) {
  if (!name.starts_with(before) || !name.ends_with(behind)) {
    return 0;
  }
  const std::string digits =
      name.substr(before.size(), name.size() - std::min(name.size(), before.size() + behind.size()));
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 0;
}

/// Names of what `plan` writes into its folder.
bool is_of_plan(const std::string& name) {
  return number_of_plan(name, "plan_", ".yaml") > 0 || number_of_plan(name, "launch_", ".sh") > 0 ||
         name == "plans.json" || name == "plans.svg" || name == kReportPage;
}

std::string sentence_of(const PlanSearchResult& result, const FoundPlan& best) {
  if (!best.evaluation) {  // stopped early
    return fmt::format(
        "The fastest plan by the estimates takes about {} a step on {} GPUs: {}. None was simulated.",
        to_string(best.estimate.step), best.candidate.gpus, in_words(best.candidate));
  }
  const PlanEvaluation& found = *best.evaluation;
  const Band band = calibrated(found.band);
  const auto ties = std::ranges::count_if(result.plans, [&](const FoundPlan& plan) {
    return plan.evaluation && is_tie(found.step, plan.evaluation->step, band);
  });
  return fmt::format("The fastest of {} simulated plans takes {} a step, {}, on {} GPUs: {}.{}",
                     result.plans.size(), to_string(Seconds{found.step}), in_words(band), best.candidate.gpus,
                     in_words(best.candidate),
                     ties > 1 ? fmt::format(" It is a tie with {} more within its band.", ties - 1) : "") +
         (result.own && result.own->fits()
              ? fmt::format(" The scenario's own plan takes {}.", to_string(Seconds{result.own->step}))
              : std::string{});
}

/// The command that starts a plan's job. @param framework "": none is asked for
std::string launch_of(const PlanEvaluator& evaluator, const FoundPlan& plan, const std::string& framework) {
  return framework.empty()
             ? ""
             : importing::launch_text(framework, evaluator.document_of(plan.candidate), evaluator.configs());
}

void write_files(const PlanEvaluator& evaluator, const PlanSearchResult& result,
                 const SearchPlansOptions& options, const fs::path& scenario, const fs::path& folder) {
  const std::vector<FoundPlan> best = best_plans(result, options.keep);
  for (std::size_t i = 0; i < best.size(); ++i) {
    write_whole_file(folder / fmt::format("plan_{}.yaml", i + 1),
                     plan_file_text(evaluator, best[i].candidate, scenario));
    if (!options.emit.empty()) {
      write_whole_file(folder / fmt::format("launch_{}.sh", i + 1),
                       launch_of(evaluator, best[i], options.emit));
    }
  }
  Page page{"plan", evaluator.scenario().name, sentence_of(result, best.front()),
            plans_json(evaluator, result, options.keep)};
  page.pictures.push_back({"step time and memory", plans_svg(evaluator, result)});
  write_whole_file(folder / "plans.json", page.data);
  write_whole_file(folder / "plans.svg", page.pictures.front().svg);
  write_whole_file(folder / kReportPage, page_html(page));
}

int report(const PlanEvaluator& evaluator, const PlanSearchResult& result, const SearchPlansOptions& options,
           const fs::path& scenario, ResultFolder& folder) {
  if (result.enumeration.candidates.empty()) {
    throw std::invalid_argument{nothing_to_search_text(evaluator, result)};
  }
  if (best_plans(result, 1).empty()) {
    if (result.interruption != 0) {
      fmt::print(stderr, "stopped before a plan was found\n");
      folder.abandon();
      end_by(result.interruption);
    }
    give_json(options, plans_json(evaluator, result, options.keep));
    if (result.too_big.empty()) {
      throw std::invalid_argument{nothing_built_text(evaluator, result)};
    }
    if (result.has_gaps()) {  // not known to fit nowhere
      throw std::invalid_argument{no_plan_text(evaluator, result)};
    }
    throw OutOfMemoryError{no_plan_text(evaluator, result)};
  }
  write_files(evaluator, result, options, scenario, folder.staged());
  folder.commit();
  give_json(options, plans_json(evaluator, result, options.keep));
  if (options.json != "-") {
    fmt::print("{}", plans_text(evaluator, result, options.keep));
    for (const std::string& sentence : evaluator.straddling(best_plans(result, 1).front().candidate)) {
      fmt::print("of the best plan, {}\n", sentence);
    }
    if (!options.emit.empty()) {
      fmt::print("\nthe best plan for {}\n{}", options.emit,
                 launch_of(evaluator, best_plans(result, 1).front(), options.emit));
    }
  } else if (result.has_gaps()) {
    fmt::print(stderr, "{}\n", gaps_text(result));
  }
  if (!options.quiet) {
    fmt::print(stderr, "\nresults in {}: plan_1.yaml and so on, plans.json, plans.svg\nlook at them: {}\n",
               folder.path().string(), (folder.path() / kReportPage).string());
  }
  if (result.interruption != 0) {
    end_by(result.interruption);
  }
  return kExitOk;
}

}  // namespace

int search_plans_command(const SearchPlansOptions& options) {
  const Progress progress{options.quiet};
  if (!options.emit.empty()) {
    importing::expect_framework(options.emit);
  }
  auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  PlanEvaluator evaluator{std::move(document), configs, options.gpus};
  const PlanSpace space = space_with_only(evaluator.problem(), options.only);
  ResultFolder folder{result_folder(options.folder, path), is_of_plan};
  check_outputs({options.json});
  const PlanSearchOptions search{options.budget, options.jobs, options.keep};
  const PlanSearchResult result = search_plans(evaluator, space, search, progress);
  return report(evaluator, result, options, path, folder);
}

void add_plan_command(CLI::App& app, std::function<int()>& action) {
  struct Given {
    SearchPlansOptions options;
    PlanWords words;
  };
  const auto given = std::make_shared<Given>();
  SearchPlansOptions& options = given->options;
  CLI::App* command = app.add_subcommand("plan", "find the best parallel plans of a transformer");
  command->footer(
      "examples:\n"
      "  lockstep plan llama3_8b_fsdp -o plans\n"
      "  lockstep plan gpt3_175b_interleaved --budget 60s --only tensor=8 --only micro_batch=1,2\n"
      "  lockstep plan my.yaml --gpus 8,16,32                 what more GPUs would buy\n"
      "  lockstep plan my.yaml --emit megatron                the best plan as flags of Megatron-LM");
  add_plan_question(*command, options, given->words);
  command->add_option("--keep", options.keep, "plans to report")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  command->add_option("--emit", options.emit,
                      "launch flags of each plan: megatron, torchtitan, deepspeed, torchrun");
  command->callback([given, &action] {
    action = [given] {
      complete(given->options, given->words);
      return search_plans_command(given->options);
    };
  });
}

}  // namespace lockstep
