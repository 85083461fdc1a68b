#include "app/plans/plan_question.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "app/plans/plan_options.hpp"
#include "app/sweep/sweep_place.hpp"
#include "base/file.hpp"
#include "base/forked_tasks.hpp"

namespace lockstep {

void add_plan_question(CLI::App& command, PlanQuestion& question, PlanWords& words) {
  constexpr int kMostNumbers = 1'000'000;  // GPUs and jobs: beyond it something was mistyped
  command
      .add_option("SCENARIO", question.scenario,
                  "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command.add_option("-o,--output", question.folder, "folder for the results (default: lockstep-out/NAME)");
  command.add_option("--set", words.assignments, "KEY=VALUE: override a value of the scenario")
      ->allow_extra_args(false);
  command.add_option("--only", question.only, "KEY=A,B: the choices of a searched key, e.g. tensor=4,8")
      ->allow_extra_args(false);
  command
      .add_option("--gpus", question.gpus,
                  "numbers of GPUs, e.g. 128,256 (default: the scenario's; of size also twice and four times "
                  "as many)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostNumbers));
  command.add_option("--budget", words.budget,
                     "time for the whole search, e.g. 60s (default: until all is done)");
  command.add_option("-j,--jobs", words.jobs, "simulations at a time (default: cores)")
      ->check(CLI::Range(1, kMostNumbers));
  command.add_option("--json", question.json, "the result as JSON; - for stdout instead of the text");
  command.add_flag("-q,--quiet", question.quiet, "nothing on stderr but errors");
}

void complete(PlanQuestion& question, const PlanWords& words) {
  question.overrides = overrides_of(words.assignments);
  if (!words.budget.empty()) {
    question.budget = search_budget(words.budget);
  }
  question.jobs =
      words.jobs > 0 ? words.jobs : static_cast<std::size_t>(usual_jobs({}, process_environment()));
}

void give_json(const PlanQuestion& question, const std::string& json) {
  if (question.json == "-") {
    fmt::print("{}", json);
  } else if (!question.json.empty()) {
    write_whole_file(question.json, json);
  }
}

}  // namespace lockstep
