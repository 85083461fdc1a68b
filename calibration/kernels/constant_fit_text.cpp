#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibration/error_summary.hpp"
#include "calibration/kernels/constant_fit.hpp"

namespace lockstep {
namespace {

std::string mean_and_count(const std::vector<double>& before, const std::vector<double>& after) {
  if (after.empty()) return fmt::format("{:>6}{:>9}{:>9}", 0, "-", "-");
  constexpr int kWidth = 9;
  return fmt::format("{:6}{}{}", after.size(), percent_cell(summarise(before).mean, kWidth),
                     percent_cell(summarise(after).mean, kWidth));
}

std::string far_off(const FittedConstant& constant) {
  const std::string unit = constant.unit.empty() ? "" : " " + constant.unit;
  return fmt::format(
      "{} went from {:.3f} to {:.3f}{}, by a factor of {:.1f}; between GPUs it differs by up to {}: are the "
      "times in microseconds, are they of this GPU (--gpu) at its usual clocks and power, and did these "
      "kernels have it to themselves?",
      constant.key, constant.before, constant.after, unit, std::max(constant.factor(), 1 / constant.factor()),
      constant.plausible);
}

}  // namespace

double ConstantFit::error_of(const std::string& key) const {
  std::vector<double> errors;
  for (const ConstantErrors& family : families) {
    if ((", " + family.family + ",").find(", " + key + ",") != std::string::npos) {
      errors.insert(errors.end(), family.held_out_after.begin(), family.held_out_after.end());
    }
  }
  return errors.empty() ? error : summarise(errors).mean;
}

std::string constant_fit_text(const ConstantFit& fit) {
  std::string text = fmt::format("{:<34}{:>10}{:>10}\n", "constants of " + fit.gpu, "before", "now");
  for (const FittedConstant& constant : fit.constants) {
    text += fmt::format("  {:<32}{:>10.3f}{:>10.3f} {}\n", constant.key, constant.before, constant.after,
                        constant.unit);
  }
  for (const KeptConstant& kept : fit.kept) {
    text += fmt::format("  {:<32}stays as it is: {}\n", kept.key, kept.why);
  }
  text += fmt::format("\n{:<34}{:>24}{:>24}\n{:<34}{:>6}{:>9}{:>9}{:>6}{:>9}{:>9}\n", "mean error, %",
                      "fitted rows", "held out", "", "rows", "before", "now", "rows", "before", "now");
  for (const ConstantErrors& family : fit.families) {
    text += fmt::format("  {:<32}{}{}\n", family.family,
                        mean_and_count(family.fitted_before, family.fitted_after),
                        mean_and_count(family.held_out_before, family.held_out_after));
  }
  if (!fit.split_with_m.empty()) {
    text += fmt::format("{}: of few weight matrices, so that other m of them are held out\n",
                        fmt::join(fit.split_with_m, "; "));
  }
  if (fit.unused > 0) {
    text += fmt::format("{} rows of other families, or of instructions=, were not used\n", fit.unused);
  }
  return text;
}

std::vector<std::string> constant_doubts(const ConstantFit& fit) {
  constexpr double kUsable = 0.5;
  std::vector<std::string> doubts;
  for (const ConstantErrors& family : fit.families) {
    const double error = family.held_out_after.empty() ? 0 : summarise(family.held_out_after).mean;
    if (error <= kUsable) continue;
    doubts.push_back(
        fmt::format("{}: rows held out are missed by {:.0f} % on average: is it this GPU, are they these "
                    "kernels, and are "
                    "the times in microseconds?",
                    family.family, 100 * error));
  }
  for (const FittedConstant& constant : fit.constants) {
    if (std::max(constant.factor(), 1 / constant.factor()) > constant.plausible) {
      doubts.push_back(far_off(constant));
    }
  }
  return doubts;
}

}  // namespace lockstep
