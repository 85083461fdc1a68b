#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/synth_subcommands.hpp"
#include "app/commands/synth_written_tokens.hpp"
#include "app/result_folder.hpp"
#include "app/synth_inputs.hpp"
#include "base/file.hpp"
#include "synth/fit.hpp"
#include "synth/model_file.hpp"

namespace lockstep {
namespace {

struct FitCommand {
  SynthInput input;
  synth::FitOptions options;
  std::string model;
};

std::uint64_t written_tokens_of_job(const synth::JobModel& job) {
  std::uint64_t count = 0;
  for (const synth::Template& tmpl : job.templates) count += written_tokens(tmpl.body);
  return count;
}

int fit_command(const FitCommand& command) {
  check_outputs({command.model});
  const std::vector<synth::Recording> recordings = read_recordings(command.input);
  const synth::Model model = synth::fit(recordings, command.options);
  write_whole_file(command.model, synth::to_json(model));
  for (const synth::JobModel& job : model.jobs) {
    std::vector<std::string> symbols;
    for (const auto& [name, value] : job.symbols) symbols.push_back(fmt::format("{} {:.10g}", name, value));
    fmt::print("job of {} ranks, {} of them different: {} instructions, {} written down\n  {}\n",
               job.ranks.size(), job.templates.size(), job.tokens, written_tokens_of_job(job),
               fmt::join(symbols, ", "));
    for (const std::string& pair : job.unclear) {
      fmt::print(
          "  {} are equal in all jobs: sizes cannot tell them apart (add a job in which they differ)\n",
          pair);
    }
  }
  fmt::print("{} in {}: lockstep synth show {}\n",
             model.jobs.size() == 1 ? "one job: a sample is like this job"
                                    : fmt::format("{} jobs", model.jobs.size()),
             command.model, command.model);
  return 0;
}

}  // namespace

void add_synth_fit(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<FitCommand>();
  CLI::App* command = parent.add_subcommand("fit", "learn a model of jobs");
  command->add_option("JOB", options->input.jobs, kSynthJobs)->required();
  command->add_option("-o,--output", options->model, "file for the model")->required();
  command->add_option("--name", options->options.family, "what the family is called");
  command
      ->add_option("--label", options->input.labels,
                   "sizes of a job that its shapes do not tell, one option a job: hidden=768,layers=12")
      ->allow_extra_args(false);
  command->add_option("--min-support", options->options.min_support,
                      "spreads of what was seen less often are those of its class (default: 5)");
  command->add_flag("--exact", options->options.exact,
                    "write what is repeated once only where it takes equally long: nothing is averaged");
  add_synth_input(*command, options->input);
  command->callback([options, &action] { action = [options] { return fit_command(*options); }; });
}

}  // namespace lockstep
