#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/report.hpp"
#include "app/schedule/schedule_report.hpp"
#include "calibration/band.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostRows = 24;  // of phases: an alternation repeats itself
constexpr double kWorthAHint = 1.03;   // of a step
constexpr double kNothing = 0.0005;    // of the dense training: rounds to 0.0 %

std::string kept_text(const PredictedPhase& phase) {
  std::vector<std::string> parts;
  for (const KeptWidth& width : phase.widths) {
    if (!width.table) {
      parts.push_back(fmt::format("{} {:.3g}", name_of(width.group), width.asked));
    }
  }
  const auto tables =
      std::ranges::count_if(phase.widths, [](const KeptWidth& of) { return of.table.has_value(); });
  if (tables > 0) {
    parts.push_back(fmt::format("less of {}", plural(static_cast<std::size_t>(tables), "table")));
  }
  if (phase.sparsity) {
    parts.push_back(fmt::format("sparse {}", name_of(phase.sparsity->kind)));
  }
  if (!phase.frozen.empty()) {
    parts.push_back(fmt::format("frozen: {}", fmt::join(phase.frozen, ", ")));
  }
  if (phase.mask) {
    parts.push_back(fmt::format("{:.3g} % zeros", 100 * phase.mask->zeros));
  }
  return parts.empty() ? "all" : fmt::format("{}", fmt::join(parts, ", "));
}

std::size_t width_of(const std::vector<std::string>& texts, std::size_t least) {
  for (const std::string& text : texts) {
    least = std::max(least, text.size());
  }
  return least;
}

std::string part_text(const StepFigures& figures) {
  const StepPart part = figures.bound_by();
  return fmt::format("{} {:.0f} %", name_of(part),
                     100 * figures.parts[static_cast<std::size_t>(part)] / figures.step);
}

std::string memory_text(const StepFigures& figures) {
  return figures.memory ? to_string(figures.memory->used) : "";
}

std::string phase_lines(const SchedulePrediction& prediction) {
  std::vector<std::string> names{"phase"}, kept{"keep"};
  for (const PredictedPhase& phase : prediction.phases) {
    names.push_back(phase.name);
    kept.push_back(kept_text(phase));
  }
  const std::size_t name = width_of(names, 5), keep = width_of(kept, 4);
  const bool has_quality = prediction.phases.front().quality.has_value();
  std::string text = fmt::format("\n    {:<{}}  {:>10}  {:<{}}  {:>10}  {:>12}  {:>6}  {:>6}  {:>10}  {}{}\n",
                                 "phase", name, "steps", "keep", keep, "step", "band", "x full", "FLOPs",
                                 "memory", "most of it", has_quality ? " (yours: quality)" : "");
  for (std::size_t i = 0; i < std::min(kMostRows, prediction.phases.size()); ++i) {
    const PredictedPhase& phase = prediction.phases[i];
    const double flops = prediction.full.flops > 0 ? phase.figures.flops / prediction.full.flops : 1;
    text += fmt::format("    {:<{}}  {:>10.0f}  {:<{}}  {:>10}  {:>12}  {:>6.3f}  {:>6.3f}  {:>10}  {}{}\n",
                        phase.name, name, phase.steps, kept[i + 1], keep,
                        to_string(Seconds{phase.figures.step}), in_words(around(phase.figures.band)),
                        phase.figures.step / prediction.full.step, flops, memory_text(phase.figures),
                        part_text(phase.figures), phase.quality ? fmt::format(" ({})", *phase.quality) : "");
  }
  if (prediction.phases.size() > kMostRows) {
    text += fmt::format("    and {} more\n", prediction.phases.size() - kMostRows);
  }
  return text;
}

/// The widths of each distinct phase.
std::string width_lines(const SchedulePrediction& prediction) {
  std::string text;
  for (std::size_t i = 0; i < prediction.phases.size(); ++i) {
    const PredictedPhase& phase = prediction.phases[i];
    if (phase.alike != i) {
      continue;
    }
    for (const KeptWidth& width : phase.widths) {
      const std::string what =
          width.table ? fmt::format("table {}", *width.table) : std::string{name_of(width.group)};
      text += fmt::format("    {}: {} {} -> {}\n", phase.name, what, width.full, width.kept);
    }
    if (phase.unrounded && *phase.unrounded > kWorthAHint * phase.figures.step) {
      text += fmt::format("    {}: without rounding a step takes {}, {:.0f} % longer\n", phase.name,
                          to_string(Seconds{*phase.unrounded}),
                          100 * (*phase.unrounded / phase.figures.step - 1));
    }
    if (phase.sparsity) {
      text += fmt::format(
          "    {}: linear layers multiply 2:4 sparse weights {}; they are compressed anew "
          "behind each update\n",
          phase.name, phase.sparsity->backward ? "in both directions" : "forward alone");
    }
    if (phase.mask) {
      text += fmt::format(
          "    {}: zeros without structure save no time: every product multiplies them, and the mask is "
          "read\n",
          phase.name);
    }
  }
  return text.empty() ? "" : "\n  kept widths\n" + text;
}

std::string pays_text(const BreakEven& pays) {
  if (!pays.steps || pays.seconds == 0) {
    return pays.seconds > 0 ? "steps get no shorter" : "nothing to do";
  }
  return fmt::format("pays after {}{}", plural(static_cast<std::size_t>(std::ceil(*pays.steps)), "step"),
                     pays.is_too_short ? ", more than the phase has" : "");
}

std::string work_text(const PredictedTransition& transition) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, double bytes) {
    if (bytes > 0) parts.push_back(fmt::format("{} {}", what, to_string(Bytes{bytes})));
  };
  double tables = 0, moved = 0;
  for (const TableWork& of_rank : transition.work.tables) tables = std::max(tables, of_rank.moved());
  for (const MovedTable& table : transition.work.moved) moved += table.bytes;
  add("score", transition.work.scored);
  add("all-gather", transition.work.shared);
  add("gather", transition.work.gathered);
  add("fill", transition.work.filled);
  add("broadcast", transition.work.broadcast);
  add("tables", tables);
  add("move", moved);
  if (transition.waits.files > Seconds{0}) {
    parts.push_back(fmt::format("checkpoint {}", to_string(transition.waits.files)));
  }
  if (transition.waits.recompile > Seconds{0}) {
    parts.push_back(fmt::format("recompile {}{}", to_string(transition.waits.recompile),
                                transition.guessed_recompile ? " (guessed)" : ""));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string transition_lines(const SchedulePrediction& prediction) {
  if (prediction.transitions.empty()) {
    return {};
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < prediction.transitions.size(); ++i) {
    names.push_back(prediction.phases[i].name + " to " + prediction.phases[i + 1].name);
  }
  const std::size_t name = width_of(names, 10);
  std::string text = "\n  transitions (bytes of a rank)\n";
  for (std::size_t i = 0; i < std::min(kMostRows, names.size()); ++i) {
    const std::string work = work_text(prediction.transitions[i]);
    text += fmt::format("    {:<{}}  {:>10}  {}{}\n", names[i], name,
                        to_string(Seconds{prediction.transitions[i].seconds}),
                        pays_text(prediction.totals.transitions[i]), work.empty() ? "" : "; " + work);
  }
  return text;
}

/// `3.21 h, 25.7 GPU-hours, cost 64.2, 9.1 kWh`
std::string resources_text(double seconds, double gpu_hours, const std::optional<double>& cost,
                           const std::optional<double>& energy) {
  constexpr double kKilowattHour = 3.6e6;
  return fmt::format("{}, {:.4g} GPU-hours{}{}", long_time(seconds), gpu_hours,
                     cost ? fmt::format(", cost {:.4g}", *cost) : "",
                     energy ? fmt::format(", {:.4g} kWh", *energy / kKilowattHour) : "");
}

/// In percent, to two decimals, without a sign where that leaves nothing.
double rounded(double share) {
  const double percent = std::round(1e4 * share) / 100;
  return percent == 0 ? 0 : percent;
}

std::string became_text(double time, double flops) {
  constexpr double kHundredth = 0.01;
  return flops > 0 && time > flops   ? ", less than time"
         : !(flops > 0)              ? ""
         : time < kHundredth * flops ? ", of which nothing becomes time"
                                     : fmt::format(", of which {:.0f} % become time", 100 * time / flops);
}

std::string saving_lines(const SchedulePrediction& prediction) {
  const double time = prediction.totals.time_saved(), flops = prediction.totals.flops_saved();
  std::string text = fmt::format(
      "\ntotal        {}\ndense        {}{}\n",
      resources_text(prediction.totals.seconds, prediction.gpu_hours, prediction.cost, prediction.energy),
      resources_text(prediction.totals.dense_seconds, prediction.dense_gpu_hours, prediction.dense_cost,
                     prediction.dense_energy),
      prediction.dense_is_longer ? " (as long as you say it needs)" : "");
  if (prediction.guessed_power) {
    text += fmt::format(
        "power        {:.0f} W of a busy GPU, {:.0f} W of an idle one (guessed from its TDP; power: says)\n",
        prediction.guessed_power->busy.watts, prediction.guessed_power->idle.watts);
  }
  text += fmt::format("time saved   {:.2f} %  (+- {:.2f} points: errors that phases share cancel)\n",
                      100 * time, 100 * prediction.time_saved_band);
  text += fmt::format("FLOPs saved  {:.2f} %{}\n", rounded(flops), became_text(time, flops));
  text += fmt::format("Amdahl       {:.2f} % if matrix products alone got shorter, by their FLOPs\n",
                      rounded(prediction.amdahl));
  if (prediction.saved_6nd) {
    text += fmt::format("6 N D        {:.2f} % saved, as papers count it (a speed-up of {:.1f} %)\n",
                        100 * *prediction.saved_6nd, 100 * (1 / (1 - *prediction.saved_6nd) - 1));
  }
  return text;
}

std::string loss_line(const std::string& what, double share) {
  return fmt::format("  {:<28}{:>+8.2f} %\n", what, rounded(share));
}

/// The losses between FLOPs saved and time saved, the largest first.
std::string loss_lines(const SchedulePrediction& prediction) {
  std::vector<std::pair<std::string, double>> lost;
  for (const auto& [part, name] : names_of(StepPart{})) {
    lost.emplace_back(name, prediction.lost[static_cast<std::size_t>(part)]);
  }
  lost.emplace_back("transitions", prediction.lost_to_transitions);
  lost.emplace_back("first steps of phases", prediction.lost_to_warm_up);
  std::ranges::stable_sort(lost, std::ranges::greater{}, &std::pair<std::string, double>::second);
  std::string text = "\nfrom FLOPs to time (of the dense training's time)\n" +
                     loss_line("FLOPs saved", prediction.totals.flops_saved());
  for (const auto& [what, share] : lost) {
    if (std::abs(share) >= kNothing / 10) {
      text += loss_line(what, -share);
    }
  }
  return text + loss_line("time saved", prediction.totals.time_saved());
}

std::string campaign_lines(const CampaignPrediction& campaign) {
  constexpr double kDay = 86400;
  const auto days = [](double seconds) { return fmt::format("{:.3f} days", seconds / kDay); };
  const CampaignTimes& times = campaign.times;
  std::string text = "\nthe whole campaign, with checkpoints and failures\n";
  text +=
      fmt::format("  expected     {}  ({} to {} in 90 % of {}), goodput {:.2f} %\n",
                  days(times.expected + campaign.recurring), days(campaign.drawn.p5 + campaign.recurring),
                  days(campaign.drawn.p95 + campaign.recurring), "drawn campaigns", 100 * times.goodput());
  text += fmt::format("  dense        {}, goodput {:.2f} %\n",
                      days(campaign.dense.expected + campaign.recurring), 100 * campaign.dense.goodput());
  if (campaign.task.interval > 0) {
    text +=
        fmt::format("  checkpoints  {:.0f}, one each {}{}, {} in all\n", times.checkpoints,
                    long_time(campaign.task.interval), campaign.is_interval_chosen ? " (Daly's optimum)" : "",
                    long_time(times.in_checkpoints));
  }
  if (campaign.task.rate > 0) {
    text += fmt::format("  failures     {:.1f} expected; {} lost to work done again and restarts\n",
                        times.failures, long_time(times.lost));
    text += fmt::format("  best         a checkpoint each {} (Young), {} (Daly)\n",
                        long_time(young_interval(campaign.task.write, campaign.task.rate)),
                        long_time(daly_interval(campaign.task.write, campaign.task.rate)));
  }
  if (campaign.recurring > 0) {
    text += fmt::format("  recurring    {} of it at full size, which the schedule does not shorten\n",
                        long_time(campaign.recurring));
  }
  return text;
}

}  // namespace

std::string long_time(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 2 * kMinute) {
    return to_string(Seconds{seconds});
  }
  return seconds < 2 * kHour  ? fmt::format("{:.4g} min", seconds / kMinute)
         : seconds < 2 * kDay ? fmt::format("{:.4g} h", seconds / kHour)
                              : fmt::format("{:.4g} days", seconds / kDay);
}

std::string search_text(const SearchedSchedule& searched) {
  std::string text = "searched: a step at each width\n";
  for (const WidthChoice& width : searched.task.widths) {
    text += fmt::format("    {:<8.4g}{:>12}  {:>6.3f} of the FLOPs\n", width.share,
                        to_string(Seconds{width.step}), width.flops / searched.task.widths.back().flops);
  }
  const std::string quality =
      searched.task.least_quality
          ? fmt::format(", quality {:.4g} by your curve, mean over steps", searched.found.quality)
          : "";
  return text + fmt::format("found: {}, {:.2f} % of the FLOPs saved{}\n  phases: {}\n\n",
                            long_time(searched.found.seconds), 100 * searched.found.flops_saved, quality,
                            searched.phases);
}

std::string schedule_text(const SchedulePrediction& prediction, const OtherTraining* other) {
  std::string text = fmt::format("{}\n  {}, {:g} {} in {}\n", prediction.name,
                                 plural(prediction.full.ranks, "rank"), prediction.length.amount(),
                                 prediction.length.unit(), plural(prediction.phases.size(), "phase"));
  text += phase_lines(prediction) + width_lines(prediction) + transition_lines(prediction) +
          saving_lines(prediction);
  if (other != nullptr) {
    text += fmt::format("against      {}: {}, {:.4g} GPU-hours; this takes {:.2f} % less time\n", other->name,
                        long_time(other->seconds), other->gpu_hours,
                        100 * (1 - prediction.totals.seconds / other->seconds));
  }
  text += loss_lines(prediction);
  return prediction.campaign ? text + campaign_lines(*prediction.campaign) : text;
}

}  // namespace lockstep
