#include "app/commands/stragglers.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "traces/pipeline/stragglers.hpp"

namespace lockstep {

int stragglers_command(const std::string& timeline) {
  const pipeline::Timeline read = pipeline::read_timeline(timeline);
  fmt::print(stderr, "{}", to_text(read.report));
  const pipeline::Replay replay{read};
  const double measured = replay.measured();
  const auto as_recorded = [](const pipeline::Operation&, const pipeline::Worker&) { return true; };
  fmt::print(
      "{}\n  {} workers in {} stages, {} steps, {} operations\n  mean step   measured {:.4f} s, simulated "
      "{:.4f} s, without "
      "recorded delays {:.4f} s\n\n",
      read.file, read.workers.size(), read.stages, read.steps.size(), read.operations.size(), measured,
      replay.mean_step(as_recorded, pipeline::Delays::Recorded),
      replay.mean_step(as_recorded, pipeline::Delays::None));
  if (!read.incomplete.empty()) {
    fmt::print("  left out of the mean: step {}, of which times were lost\n\n",
               fmt::join(read.incomplete, ", "));
  }
  fmt::print("{}", pipeline::to_text(pipeline::study_stragglers(replay, pipeline::Delays::None)));
  return 0;
}

void add_stragglers_command(CLI::App& app, std::function<int()>& action) {
  const auto timeline = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("stragglers", "what slow stages, ranks and operations cost a recorded pipeline");
  command->footer("examples:\n  lockstep stragglers timeline.json.gz      an NDTimeline of all workers");
  command->add_option("TIMELINE", *timeline, "Chrome trace of whole passes, sends and receives, gz or not")
      ->required();
  command->callback([timeline, &action] { action = [timeline] { return stragglers_command(*timeline); }; });
}

}  // namespace lockstep
