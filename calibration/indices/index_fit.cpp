#include "calibration/indices/index_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <unordered_set>

#include "base/error.hpp"
#include "calibration/least_squares.hpp"

namespace lockstep {
namespace {

constexpr double kErrorSpread = 0.02;
constexpr double kUsualSkew = 2.4;
constexpr int kFewestPoints = 3;
constexpr std::size_t kParts = 64;

/// Unbounded numbers as a model: ln rows, at most @p most_rows; skew, at most kMostIndexSkew; duplication
/// above 1.
IndexModel model_of(std::span<const double> p, double most_rows) {
  return {.rows = std::min(std::exp(p[0]), most_rows),
          .skew = kMostIndexSkew / (1 + std::exp(-p[1])),
          .duplication = 1 + std::exp(p[2])};
}

std::vector<double> errors_of(const IndexModel& model, std::span<const DistinctRows> points) {
  std::vector<double> errors;
  for (const DistinctRows& point : points) {
    errors.push_back(distinct_rows(model, point.lookups) / point.distinct - 1);
  }
  return errors;
}

/// The row numbers of one line.
std::vector<std::int64_t> rows_in(const std::string& line, int number, const std::string& file,
                                  double table_rows) {
  std::vector<std::int64_t> rows;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    while (at != end && (*at == ',' || std::isspace(static_cast<unsigned char>(*at)) != 0)) ++at;
    if (at == end) return rows;
    std::int64_t row = 0;
    const auto [stop, problem] = std::from_chars(at, end, row);
    if (problem != std::errc{} || row < 0) {
      throw InputError{{file, number},
                       "a line holds the row numbers of one bag, 0 and up, between blanks or "
                       "commas"};
    }
    if (static_cast<double>(row) >= table_rows) {
      throw InputError{
          {file, number},
          fmt::format("row {} of a table of {:.0f} (--rows), whose first is 0", row, table_rows)};
    }
    rows.push_back(row);
    at = stop;
  }
}

}  // namespace

IndexFit fit_index_model(std::span<const DistinctRows> points, double most_rows) {
  if (points.size() < kFewestPoints) {
    throw std::invalid_argument{
        fmt::format("an index model has three parameters: {} batch sizes are too few", points.size())};
  }
  for (const DistinctRows& point : points) {
    if (!(point.distinct > 0 && point.distinct <= point.lookups)) {
      throw std::invalid_argument{
          fmt::format("{:g} different rows in {:g} look-ups", point.distinct, point.lookups)};
    }
  }
  const Residuals residuals = [&](std::span<const double> p) {
    const IndexModel model = model_of(p, most_rows);
    std::vector<double> all;
    for (const DistinctRows& point : points) {
      all.push_back(std::log(distinct_rows(model, point.lookups) / point.distinct) / kErrorSpread);
    }
    all.push_back(model.skew - kUsualSkew);
    return all;
  };
  IndexFit best;
  double least = std::numeric_limits<double>::infinity();
  for (const double more_rows : {1.0, 10.0, 1000.0}) {
    for (const double more : {0.05, 1.0, 4.0}) {
      const std::vector<double> found =
          least_squares(residuals, {std::log(more_rows * points.back().distinct), -0.85, std::log(more)});
      double sum = 0;
      for (const double residual : residuals(found)) sum += residual * residual;
      if (sum < least) {
        least = sum;
        best.model = model_of(found, most_rows);
      }
    }
  }
  best.errors = errors_of(best.model, points);
  return best;
}

std::vector<DistinctRows> distinct_rows_of_parts(const std::string& text, const std::string& file_name,
                                                 double table_rows) {
  std::vector<std::vector<std::int64_t>> bags;
  std::istringstream lines{text};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.starts_with('#')) bags.push_back(rows_in(line, number, file_name, table_rows));
  }
  std::vector<DistinctRows> points;
  std::unordered_set<std::int64_t> seen;
  double lookups = 0;
  std::size_t next = 0;
  for (std::size_t part = kParts; part >= 1; part /= 2) {
    for (; next < bags.size() / part; ++next) {
      seen.insert(bags[next].begin(), bags[next].end());
      lookups += static_cast<double>(bags[next].size());
    }
    const bool grew = points.empty() ? lookups > 0 : lookups > points.back().lookups;
    if (grew) points.push_back({lookups, static_cast<double>(seen.size())});
  }
  return points;
}

}  // namespace lockstep
