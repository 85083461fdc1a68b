#include "calibration/collectives/collective_fit_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/collectives/group_errors.hpp"
#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

std::string figures(const std::vector<double>& errors) {
  if (errors.empty()) {
    return fmt::format("{:>6}{:>8}{:>8}{:>8}{:>8}", "-", "", "", "", "");
  }
  const ErrorSummary summary = summarise(errors);
  constexpr int kWidth = 8;
  return fmt::format("{:6}{}{}{}{}", summary.count, percent_cell(summary.geometric_mean, kWidth),
                     percent_cell(summary.mean, kWidth), percent_cell(summary.largest, kWidth),
                     percent_cell(summary.bias, kWidth, true));
}

std::string line(const std::string& name, const GroupErrors& errors) {
  return fmt::format("  {:<28}{}  {}\n", name, figures(errors.seen), figures(errors.held_out));
}

std::string errors_text(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  GroupErrors all;
  GroupErrors small;
  for (const FittedRow& row : fit.rows) {
    GroupErrors& errors = measurements.rows[row.measurement].size < kSmallMessages ? small : all;
    (row.held_out ? errors.held_out : errors.seen).push_back(error_of(measurements, row));
  }
  std::string text = fmt::format(
      "errors, %, of messages of at least 64 KiB\n"
      "  {:<28}{:>38}  {:>38}\n  {:<28}{:>6}{:>8}{:>8}{:>8}{:>8}  {:>6}{:>8}{:>8}{:>8}{:>8}\n",
      "", "fitted", "held out", "", "rows", "geom.", "mean", "largest", "bias", "rows", "geom.", "mean",
      "largest", "bias");
  for (const auto& [group, errors] : errors_by_group(measurements, fit)) {
    text += line(to_string(group), errors);
  }
  text += line("all", all);
  return small.seen.empty() && small.held_out.empty() ? text : text + line("smaller messages", small);
}

std::string numbers_text(const CollectiveFit& fit) {
  std::string text = "\nnumbers that the measurements moved\n";
  std::size_t idle = 0;
  std::vector<std::string> right;
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      text += fmt::format("  {:<32}{:>14}  ->{:>14}\n", number.key, number.before, number.after);
    } else if (number.matters) {
      right.push_back(number.key);
    } else {
      ++idle;
    }
  }
  if (!right.empty()) {
    text += fmt::format("  as they were: {}\n", fmt::join(right, ", "));
  }
  return text + fmt::format("  the other {} keep their values: nothing measured depends on them\n", idle);
}

std::string runs_text(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::string text = "\nlaunching, by run (not part of the profile)\n";
  for (std::size_t run = 0; run < fit.runs.size(); ++run) {
    text += fmt::format("  {:<48} adds {:>9}{}\n", measurements.runs[run], to_string(fit.runs[run].added),
                        fit.runs[run].floor > Seconds{0}
                            ? fmt::format(", never below {}", to_string(fit.runs[run].floor))
                            : std::string{});
  }
  return text;
}

}  // namespace

std::string collective_fit_text(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  return errors_text(measurements, fit) + numbers_text(fit) + runs_text(measurements, fit);
}

std::string collective_residuals_csv(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::string text = "collective,nodes,gpus_per_node,bytes,measured_us,predicted_us,error,held_out,run\n";
  for (const FittedRow& row : fit.rows) {
    const CollectiveMeasurement& measured = measurements.rows[row.measurement];
    text += fmt::format("{},{},{},{:.0f},{:.6g},{:.6g},{:.4f},{},\"{}\"\n", to_string(measured.kind),
                        measured.nodes, measured.gpus_per_node, measured.size.in_base_units(),
                        measured.time.in_base_units() * 1e6, row.predicted.in_base_units() * 1e6,
                        error_of(measurements, row), row.held_out ? "yes" : "no",
                        measurements.runs[measured.run]);
  }
  return text;
}

}  // namespace lockstep
