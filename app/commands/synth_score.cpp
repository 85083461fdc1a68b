#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/answer.hpp"
#include "app/commands/synth_subcommands.hpp"
#include "app/synth_inputs.hpp"
#include "base/units.hpp"
#include "synth/baselines.hpp"
#include "synth/score.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct ScoreCommand {
  std::string sample, source;
  std::vector<std::string> trained_on;
  AnswerOptions answer;
};

Json json_of(const synth::Score& score) {
  Json classes = Json::array();
  for (const synth::ClassScore& row : score.classes) {
    classes.push_back({{"class", row.name},
                       {"sampled", row.sampled},
                       {"source", row.source},
                       {"sampled_share", row.sampled_share},
                       {"source_share", row.source_share},
                       {"duration_ks", row.duration_ks},
                       {"time_weighted_ks", row.weighted_ks}});
  }
  return {{"classes", std::move(classes)},
          {"class_mix", score.class_mix},
          {"message_ks", score.message_ks},
          {"host_gap_ks", score.host_gap_ks},
          {"work_ratio", score.work_ratio},
          {"message_ratio", score.message_ratio},
          {"sequence_distance", score.sequence_distance},
          {"size_distance_octaves", score.size_distance}};
}

std::string text_of(const synth::Score& score) {
  std::string text =
      "class              launches           share of time      KS of durations\n"
      "                   sample   source    sample   source    plain   by time\n";
  for (const synth::ClassScore& row : score.classes) {
    text += fmt::format("{:<18} {:>6} {:>8} {:>8.1f} % {:>6.1f} % {:>8.3f} {:>9.3f}\n", row.name, row.sampled,
                        row.source, 100 * row.sampled_share, 100 * row.source_share, row.duration_ks,
                        row.weighted_ks);
  }
  text += fmt::format(
      "\nclass mix, total variation      {:.4f}\nKS of message sizes             {:.4f}\n"
      "KS of host times                {:.4f}\nkernel time, sample over source {:.4f}\n"
      "message bytes, likewise         {:.4f}\nedits of the sequence           {:.4f} of its length\n"
      "messages moved                  {:.4f} octaves\n",
      score.class_mix, score.message_ks, score.host_gap_ks, score.work_ratio, score.message_ratio,
      score.sequence_distance, score.size_distance);
  return text;
}

synth::Recording recording_named(const std::string& job) {
  SynthInput input;
  input.jobs.push_back(job);
  return std::move(read_recordings(input).front());
}

/// Scores of the two baselines, which draw nodes of the jobs that the model was fitted to.
struct BaselineScores {
  synth::Score bootstrap, markov;
};

BaselineScores baseline_scores(const std::vector<std::string>& jobs, const synth::Recording& source) {
  constexpr std::uint64_t kSeed = 1;
  SynthInput input;
  input.jobs = jobs;
  const std::vector<synth::Recording> trained = read_recordings(input);
  return {synth::compare(synth::bootstrap_of_nodes(trained, kSeed), source),
          synth::compare(synth::markov_chain(trained, kSeed), source)};
}

const synth::ClassScore* class_in(const synth::Score& score, const std::string& name) {
  const auto found = std::ranges::find(score.classes, name, &synth::ClassScore::name);
  return found == score.classes.end() ? nullptr : &*found;
}

std::string text_of(const synth::Score& score, const BaselineScores& baselines) {
  std::string text = "\nKS by time          sample  bootstrap   Markov chain\n";
  for (const synth::ClassScore& row : score.classes) {
    const synth::ClassScore* const boot = class_in(baselines.bootstrap, row.name);
    const synth::ClassScore* const chain = class_in(baselines.markov, row.name);
    text += fmt::format("{:<18} {:>7.3f} {:>10.3f} {:>14.3f}\n", row.name, row.weighted_ks,
                        boot != nullptr ? boot->weighted_ks : 1, chain != nullptr ? chain->weighted_ks : 1);
  }
  const auto line = [&](const char* what, double synth::Score::*value) {
    text += fmt::format("{:<18} {:>7.3f} {:>10.3f} {:>14.3f}\n", what, score.*value,
                        baselines.bootstrap.*value, baselines.markov.*value);
  };
  line("class mix", &synth::Score::class_mix);
  line("message sizes", &synth::Score::message_ks);
  line("host times", &synth::Score::host_gap_ks);
  line("edits", &synth::Score::sequence_distance);
  line("kernel time ratio", &synth::Score::work_ratio);
  return text;
}

int score_command(const ScoreCommand& command) {
  check_answer(command.answer);
  const synth::Recording truth = recording_named(command.source);
  const synth::Score score = synth::compare(recording_named(command.sample), truth);
  std::optional<BaselineScores> baselines;
  if (!command.trained_on.empty()) baselines = baseline_scores(command.trained_on, truth);
  const auto sampled = simulated_step(command.sample);
  const auto source = simulated_step(command.source);
  std::string text = text_of(score);
  if (baselines) text += text_of(score, *baselines);
  if (sampled && source) {
    text += fmt::format("step, simulated                 {:.3f} ms against {:.3f} ms, {:+.2f} %\n",
                        1e3 * sampled->in_base_units(), 1e3 * source->in_base_units(),
                        100 * (*sampled / *source - 1));
  }
  give_answer(command.answer, text, [&] {
    Json all = json_of(score);
    all["sampled_step_seconds"] = sampled ? Json(sampled->in_base_units()) : Json();
    if (baselines) {
      all["bootstrap"] = json_of(baselines->bootstrap);
      all["markov_chain"] = json_of(baselines->markov);
    }
    all["source_step_seconds"] = source ? Json(source->in_base_units()) : Json();
    return all.dump(2) + "\n";
  });
  return 0;
}

}  // namespace

void add_synth_score(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<ScoreCommand>();
  CLI::App* command = parent.add_subcommand("score", "how like its source a sample is, by class of kernels");
  command->add_option("SAMPLE", options->sample, "a sample's folder, or any job")->required();
  command->add_option("SOURCE", options->source, "likewise")->required();
  command
      ->add_option(
          "--trained-on", options->trained_on,
          "jobs that the model was fitted to: adds what nodes drawn from them reach, by lot and as a "
          "Markov chain of classes")
      ->allow_extra_args(false);
  add_answer_options(*command, options->answer);
  command->callback([options, &action] { action = [options] { return score_command(*options); }; });
}

}  // namespace lockstep
