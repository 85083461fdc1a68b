#include "app/commands/stragglers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/notes.hpp"
#include "traces/pipeline/stragglers.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

/// Times of a timeline, s.
struct StepTimes {
  double measured, simulated, without_delays;
};

StepTimes times_of(const pipeline::Replay& replay) {
  const auto as_recorded = [](const pipeline::Operation&, const pipeline::Worker&) { return true; };
  return {replay.measured(), replay.mean_step(as_recorded, pipeline::Delays::Recorded),
          replay.mean_step(as_recorded, pipeline::Delays::None)};
}

std::string text_of(const pipeline::Timeline& read, const StepTimes& times,
                    const pipeline::StragglerStudy& study) {
  std::string text = fmt::format(
      "{}\n  {} workers in {} stages, {} steps, {} operations\n  mean step   measured {:.4f} s, simulated "
      "{:.4f} s, without "
      "recorded delays {:.4f} s\n\n",
      read.file, read.workers.size(), read.stages, read.steps.size(), read.operations.size(), times.measured,
      times.simulated, times.without_delays);
  if (!read.incomplete.empty()) {
    text += fmt::format("  left out of the mean: step {}, of which times were lost\n\n",
                        fmt::join(read.incomplete, ", "));
  }
  return text + pipeline::to_text(study);
}

Json json_of(const std::vector<pipeline::Contribution>& parts) {
  Json rows = Json::array();
  for (const pipeline::Contribution& part : parts) {
    rows.push_back({{"part", part.part}, {"slowdown_alone", part.alone}, {"explained", part.explained}});
  }
  return rows;
}

std::string json_of(const pipeline::Timeline& read, const StepTimes& times,
                    const pipeline::StragglerStudy& study) {
  const Json all{{"file", read.file},
                 {"workers", read.workers.size()},
                 {"stages", read.stages},
                 {"steps", read.steps.size()},
                 {"operations", read.operations.size()},
                 {"measured_s", times.measured},
                 {"simulated_s", times.simulated},
                 {"without_delays_s", times.without_delays},
                 {"ideal_s", study.ideal},
                 {"slowdown", study.slowdown},
                 {"by_stage", json_of(study.stages)},
                 {"by_data_rank", json_of(study.data_ranks)},
                 {"by_type", json_of(study.types)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int stragglers_command(const std::string& timeline, const AnswerOptions& answer) {
  check_answer(answer);
  const pipeline::Timeline read = pipeline::read_timeline(timeline);
  note(to_text(read.report));
  const pipeline::Replay replay{read};
  const StepTimes times = times_of(replay);
  const pipeline::StragglerStudy study = pipeline::study_stragglers(replay, pipeline::Delays::None);
  give_answer(answer, text_of(read, times, study), [&] { return json_of(read, times, study); });
  return 0;
}

void add_stragglers_command(CLI::App& app, std::function<int()>& action) {
  const auto timeline = std::make_shared<std::string>();
  const auto answer = std::make_shared<AnswerOptions>();
  CLI::App* command =
      app.add_subcommand("stragglers", "what slow stages, ranks and operations cost a recorded pipeline");
  command->footer("examples:\n  lockstep stragglers timeline.json.gz      an NDTimeline of all workers");
  command->add_option("TIMELINE", *timeline, "Chrome trace of whole passes, sends and receives, gz or not")
      ->required();
  add_answer_options(*command, *answer);
  command->callback([timeline, answer, &action] {
    action = [timeline, answer] { return stragglers_command(*timeline, *answer); };
  });
}

}  // namespace lockstep
