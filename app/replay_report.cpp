#include "app/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/replay_kernels_report.hpp"
#include "topology/cluster_words.hpp"

namespace lockstep {
namespace {

using replay::Pair;
using replay::RankComparison;
using replay::TransferComparison;

constexpr double kMilli = 1e3;
constexpr double kMicro = 1e6;

std::string compared(const Pair& pair) {
  return fmt::format("{:>10.3f} {:>10.3f} {:>+7.2f} %", kMilli * pair.measured, kMilli * pair.simulated,
                     100 * pair.error());
}

std::string ranks_table(const ReplayRun::Result& plain) {
  const bool steps = !plain.ranks.front().steps.empty();
  std::string text =
      fmt::format("\n{:<6}{:<33}{:<33}{:<33}{:>9}  {}\n{:<6}{:<33}{:<33}{:<33}{:>9}  {}\n", "rank",
                  steps ? "  mean step (ms)" : "  window (ms)", "  GPU, first start to last end",
                  "  communication kernels", "of it", "kernel starts off by", "",
                  "  measured  simulated    error", "  measured  simulated    error",
                  "  measured  simulated    error", "waiting", "median, 90th percentile (us)");
  for (std::size_t i = 0; i < plain.ranks.size(); ++i) {
    const RankComparison& rank = plain.ranks[i];
    text +=
        fmt::format("{:<5}{}   {}   {}   {:>8.3f}  {:>8.1f} {:>8.1f}\n", i, compared(replay::mean_step(rank)),
                    compared(rank.gpu_span), compared(rank.communication), kMilli * rank.waiting,
                    kMicro * rank.median_start_error, kMicro * rank.p90_start_error);
  }
  return text;
}

/// Steps of which something is missing, and whether the mean has them.
std::string incomplete_steps(const ReplayRun::Result& plain) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < plain.ranks.size(); ++i) {
    std::size_t count = 0;
    const std::vector<replay::StepPair>& steps = plain.ranks[i].steps;
    const bool any_timed = std::ranges::any_of(steps, &replay::StepPair::is_timed);
    for (const replay::StepPair& step : steps) {
      if (!step.missing.empty() && ++count <= kMost) {
        text += fmt::format("  rank {}, {}: missing {}{}\n", i, step.name, step.missing,
                            step.is_timed ? ""
                            : any_timed   ? "; left out of the mean step"
                                          : "; when it ends is not known, as of all steps");
      }
    }
    text += count > kMost ? fmt::format("  rank {}: {} more steps\n", i, count - kMost) : "";
  }
  return text.empty() ? "" : "\nincomplete steps\n" + text;
}

std::string details(const ReplayRun::Result& plain) {
  std::string text;
  for (std::size_t i = 0; i < plain.ranks.size(); ++i) {
    text += fmt::format("\nrank {}: steps and busy time of streams (ms)\n", i);
    for (const replay::StepPair& step : plain.ranks[i].steps) {
      text += fmt::format("  {:<20}{}\n", step.name, compared(step.duration()));
    }
    for (const replay::StreamPair& stream : plain.ranks[i].streams) {
      text += fmt::format("  {:<20}{}\n", stream.name, compared(stream.busy));
    }
  }
  return text;
}

/// Collectives of one kind and size.
struct TransferRow {
  std::vector<double> recorded;
  double predicted = 0;
};

std::string transfers_table(const std::vector<TransferComparison>& transfers) {
  std::map<std::tuple<std::string, double, std::size_t, bool>, TransferRow> rows;
  double log_sum = 0;
  std::size_t said = 0;
  for (const TransferComparison& t : transfers) {
    TransferRow& row = rows[{to_string(t.kind), t.size.in_base_units(), t.ranks, t.is_inferred}];
    row.recorded.push_back(t.recorded);
    row.predicted += t.predicted;
    if (!t.is_inferred && t.recorded > 0 && t.predicted > 0) {
      log_sum += std::log(std::max(std::abs(t.predicted / t.recorded - 1), 1e-4));
      ++said;
    }
  }
  std::string text = fmt::format(
      "\ntransfers on this cluster, from the last arrival (us)\n  {:<16}{:>12}{:>7}{:>7}{:>20}{:>11}\n", "",
      "bytes", "ranks", "times", "recorded (median)", "predicted");
  for (auto& [key, row] : rows) {
    std::ranges::sort(row.recorded);
    text +=
        fmt::format("  {:<16}{:>12.0f}{:>7}{:>7}{:>20.1f}{:>11.1f}{}\n", std::get<0>(key), std::get<1>(key),
                    std::get<2>(key), row.recorded.size(), kMicro * row.recorded[row.recorded.size() / 2],
                    kMicro * row.predicted / static_cast<double>(row.recorded.size()),
                    std::get<3>(key) ? "  size inferred from the time" : "");
  }
  if (said > 0) {
    text += fmt::format("  geometric mean of the absolute error of {}: {:.1f} %\n", said,
                        100 * std::exp(log_sum / static_cast<double>(said)));
  }
  return text;
}

std::string change_row(const std::string& name, const ReplayRun::Result& result,
                       const ReplayRun::Result& plain) {
  const double step = mean_step(result).simulated;
  const double usual = mean_step(plain).simulated;
  double span = 0;
  double communication = 0;
  for (const RankComparison& rank : result.ranks) {
    span = std::max(span, rank.gpu_span.simulated);
    communication += rank.communication.simulated / static_cast<double>(result.ranks.size());
  }
  return fmt::format("  {:<44}{:>10.3f} {:>+8.2f} %  {:>10.3f}  {:>10.3f}{}\n", name, kMilli * step,
                     usual == 0 ? 0 : 100 * (step / usual - 1), kMilli * span, kMilli * communication,
                     result.remark.empty() ? "" : "  " + result.remark);
}

std::string changes_table(const ReplayRun::Result& plain, const std::vector<WhatIfResult>& changes) {
  std::string text = fmt::format("\nwhat if (ms){:<34}{:>9}{:>11}  {:>10}  {:>10}\n", "", "mean step", "",
                                 "GPU span", "communic.");
  text += change_row("as recorded", plain, plain);
  for (const WhatIfResult& change : changes) {
    text += change_row(change.name, change.result, plain);
  }
  return text;
}

ImportReport without_notes(const ImportReport& report) {
  ImportReport kept;
  for (const ImportReport::Row& row : report.rows()) {
    if (row.oddity.severity != Severity::Note) {
      kept.add(row.oddity, row.example, row.count);
    }
  }
  return kept;
}

std::string path_table(const SimulationResult& result) {
  std::string text = "\ncritical path of the window\n";
  constexpr std::size_t kMost = 6;
  const double whole = result.makespan().in_base_units();
  for (std::size_t i = 0; i < std::min(kMost, result.critical_path.size()); ++i) {
    const CriticalShare& share = result.critical_path[i];
    text += fmt::format("  {:<60}{:>10.3f} ms {:>5.1f} %\n", share.what.substr(0, 58), kMilli * share.seconds,
                        100 * share.seconds / whole);
  }
  return result.critical_path.empty() ? "" : text;
}

nlohmann::json json_of(const Pair& pair) {
  return {{"measured", pair.measured}, {"simulated", pair.simulated}};
}

nlohmann::json json_of(const RankComparison& rank) {
  nlohmann::json made{
      {"gpu_span", json_of(rank.gpu_span)},
      {"communication", json_of(rank.communication)},
      {"communication_waiting", rank.waiting},
      {"kernel_start_error", {{"median", rank.median_start_error}, {"p90", rank.p90_start_error}}},
      {"steps", nlohmann::json::array()},
      {"streams", nlohmann::json::array()}};
  for (const replay::StepPair& step : rank.steps) {
    made["steps"].push_back({{"name", step.name}, {"duration", json_of(step.duration())}});
    if (!step.missing.empty()) {
      made["steps"].back()["missing"] = step.missing;
      made["steps"].back()["in_mean"] = step.is_timed;
    }
  }
  for (const replay::StreamPair& stream : rank.streams) {
    made["streams"].push_back({{"name", stream.name}, {"busy", json_of(stream.busy)}});
  }
  return made;
}

}  // namespace

replay::Pair mean_step(const ReplayRun::Result& result) {
  return replay::mean_step(result.ranks);
}

ImportReport whole_report(const replay::Replay& replay) {
  ImportReport whole;
  for (const replay::RankRecording& rank : replay.ranks) {
    whole.merge(rank.trace.report);
  }
  return whole;
}

namespace {

/// `5.2 % faster`, `no faster`
std::string faster_by(double now, double before) {
  const double gain = before > 0 ? 1 - now / before : 0;
  constexpr double kNothing = 5e-4;  // rounds to 0.0 %
  return std::abs(gain) < kNothing
             ? "no faster"
             : fmt::format("{:.1f} % {}", 100 * std::abs(gain), gain > 0 ? "faster" : "slower");
}

/// The work of the host along the critical path, as a share.
double host_share(const SimulationResult& result) {
  double host = 0, length = 0;
  for (const CriticalShare& share : result.critical_path) {
    const bool is_host = share.part == PathPart::HostWork || share.part == PathPart::Silence;
    host += is_host ? share.seconds : 0;
    length += share.seconds;
  }
  return length > 0 ? host / length : 0;
}

/// Mean time of a rank's communication kernels.
double communication_of(const ReplayRun::Result& result, double Pair::*side) {
  double sum = 0;
  for (const RankComparison& rank : result.ranks) {
    sum += rank.communication.*side / static_cast<double>(result.ranks.size());
  }
  return sum;
}

/// The reason for a step: the time of its communication kernels against that before, and the host's share.
std::string reason(const ReplayRun::Result& result, double communication_before) {
  std::vector<std::string> parts;
  const double communication = communication_of(result, &Pair::simulated);
  if (communication_before > 0) {
    parts.push_back(fmt::format("communication kernels take {} instead of {} on a rank",
                                to_string(Seconds{communication}), to_string(Seconds{communication_before})));
  }
  if (const double host = host_share(result.simulation); host > 0) {
    parts.push_back(fmt::format("{:.0f} % of the critical path is the host's", 100 * host));
  }
  return parts.empty() ? "" : fmt::format(": {}", fmt::join(parts, ", "));
}

std::string change_sentence(const WhatIfResult& change, const ReplayRun::Result& plain) {
  const double now = mean_step(change.result).simulated, before = mean_step(plain).simulated;
  const std::string how =
      change.name.starts_with("on ") ? "O" + change.name.substr(1) : "With " + change.name;
  return fmt::format("{} the step takes {}, {}{}.", how, to_string(Seconds{now}), faster_by(now, before),
                     reason(change.result, communication_of(plain, &Pair::simulated)));
}

}  // namespace

std::string replay_sentence(const ReplayRun& run, const ReplayRun::Result& plain,
                            const std::vector<WhatIfResult>& changes) {
  const Pair step = mean_step(plain);
  const auto& cluster = run.spec().cluster;
  std::string text =
      cluster ? fmt::format("On {} the step takes {}, {} than recorded ({}){}.", in_words(*cluster),
                            to_string(Seconds{step.simulated}), faster_by(step.simulated, step.measured),
                            to_string(Seconds{step.measured}),
                            reason(plain, communication_of(plain, &Pair::measured)))
              : fmt::format("As recorded the step takes {}, the replay {} ({:+.1f} %){}.",
                            to_string(Seconds{step.measured}), to_string(Seconds{step.simulated}),
                            step.measured > 0 ? 100 * step.error() : 0.0, reason(plain, 0));
  for (const WhatIfResult& change : changes) {
    const bool is_shown = changes.size() <= 3 || &change == &changes.back();
    text += is_shown ? "\n" + change_sentence(change, plain) : "";
  }
  return text;
}

std::string replay_text(const ReplayRun& run, const ReplayRun::Result& plain,
                        const std::vector<WhatIfResult>& changes, bool in_full) {
  const replay::Replay& replay = run.replay();
  std::size_t work = 0;
  for (const replay::RankRecording& rank : replay.ranks) {
    work += rank.trace.work.size();
  }
  std::string text =
      fmt::format("{}\n\n{}\n  {} traces, {} ranks, {} pieces of GPU work, {} instructions\n",
                  replay_sentence(run, plain, changes), replay.ranks.front().trace.file, replay.ranks.size(),
                  replay.job.ranks.size(), work, plain.simulation.operations);
  text += ranks_table(plain);
  text += incomplete_steps(plain);
  text += in_full ? details(plain) : "";
  text += run.transfers().empty() ? "" : transfers_table(run.transfers());
  if (run.kernels() != nullptr) {
    text += kernels_table(*run.kernels(), (*run.spec().gpu)->name, in_full);
  }
  text += changes.empty() ? "" : changes_table(plain, changes);
  text += path_table(changes.empty() ? plain.simulation : changes.back().result.simulation);
  const ImportReport report = whole_report(replay);
  text += in_full ? "\nimport report\n" + to_text(report) : "";
  const ImportReport inferred = without_notes(report);
  text += in_full || inferred.rows().empty() ? "" : "\nwhat the traces do not say\n" + to_text(inferred);
  return text;
}

std::string replay_json(const ReplayRun& run, const ReplayRun::Result& plain,
                        const std::vector<WhatIfResult>& changes) {
  nlohmann::json made{{"sentence", replay_sentence(run, plain, changes)}};
  for (std::size_t i = 0; i < plain.ranks.size(); ++i) {
    made["ranks"].push_back(json_of(plain.ranks[i]));
  }
  made["mean_step"] = json_of(mean_step(plain));
  made["operations"] = plain.simulation.operations;
  for (const TransferComparison& t : run.transfers()) {
    made["transfers"].push_back({{"collective", to_string(t.kind)},
                                 {"bytes", t.size.in_base_units()},
                                 {"ranks", t.ranks},
                                 {"recorded", t.recorded},
                                 {"predicted", t.predicted},
                                 {"size_inferred", t.is_inferred}});
  }
  if (run.kernels() != nullptr) {
    made["kernels"] = nlohmann::json::parse(kernels_json(*run.kernels(), (*run.spec().gpu)->name));
  }
  for (const WhatIfResult& change : changes) {
    made["what_if"].push_back({{"name", change.name}, {"mean_step", mean_step(change.result).simulated}});
    if (!change.result.remark.empty()) {
      made["what_if"].back()["remark"] = change.result.remark;
    }
  }
  const ImportReport report = whole_report(run.replay());
  for (const ImportReport::Row& row : report.rows()) {
    made["import_report"].push_back({{"severity", to_string(row.oddity.severity)},
                                     {"kind", row.oddity.kind},
                                     {"count", row.count},
                                     {"meaning", row.oddity.meaning},
                                     {"example", row.example}});
  }
  return made.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
