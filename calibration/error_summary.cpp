#include "calibration/error_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace lockstep {

ErrorSummary summarise(std::span<const double> errors) {
  // An error of nothing must not make the geometric mean nothing (analysis/utils.py of Lin et al.).
  constexpr double kLeast = 4e-4;
  ErrorSummary summary;
  std::vector<double> absolute;
  double logarithms = 0;
  for (const double error : errors) {
    absolute.push_back(std::abs(error));
    summary.mean += absolute.back();
    summary.bias += error;
    logarithms += std::log(absolute.back() + kLeast);
  }
  if (absolute.empty()) {
    return summary;
  }
  summary.count = absolute.size();
  const auto count = static_cast<double>(summary.count);
  summary.geometric_mean = std::exp(logarithms / count);
  summary.mean /= count;
  summary.bias /= count;
  summary.median = quantile(absolute, 0.5);
  summary.ninetieth = quantile(absolute, 0.9);
  summary.largest = *std::max_element(absolute.begin(), absolute.end());
  return summary;
}

std::string percent_cell(double error, int width, bool is_signed) {
  const char* const sign = is_signed ? "+" : "";
  std::string text;
  for (const char* const form : {".1f", ".0f", ".0e"}) {
    text = fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", sign, form)), 100 * error);
    if (static_cast<int>(text.size()) < width) break;
  }
  return fmt::format("{:>{}}", text, width);
}

double quantile(std::span<const double> values, double share) {
  if (values.empty() || !(share >= 0 && share <= 1)) {
    throw std::logic_error{"quantile: of values, at a share of 0 to 1"};
  }
  std::vector<double> sorted{values.begin(), values.end()};
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace lockstep
