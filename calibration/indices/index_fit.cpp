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

constexpr double kErrorSpread = 0.02;  // of the odds, by what the model leaves out
constexpr double kUsualSkew = 2.4, kSkewSpread = 2;
constexpr double kByChance = 2;  // residuals up to it
constexpr double kHalf = 0.5;    // of a lookup, keeps logarithms of none finite
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

double repeats(const DistinctRows& point) {
  return std::max(point.lookups - point.distinct, 0.0) + kHalf;
}

double log_odds(const DistinctRows& point) {
  return std::log((point.distinct + kHalf) / repeats(point));
}

/// Standard deviation of the logarithm of the odds at points[i], by chance: of draws at random the number of
/// different rows D of L lookups has the variance D(2 L) - D(L) - L D'(L)^2; between neighbours D is a
/// power of L.
double chance(std::span<const DistinctRows> points, std::size_t i) {
  const DistinctRows& point = points[i];
  const DistinctRows& before = points[i > 0 ? i - 1 : i];
  const DistinctRows& behind = points[std::min(i + 1, points.size() - 1)];
  const double power = std::clamp(
      std::log(behind.distinct / before.distinct) / std::log(behind.lookups / before.lookups), 0.0, 1.0);
  const double slope = power * point.distinct / point.lookups;
  const double variance = point.distinct * (std::exp2(power) - 1) - point.lookups * slope * slope;
  return std::sqrt(std::clamp(variance, kHalf, repeats(point))) * point.lookups /
         (point.distinct * repeats(point));
}

std::vector<double> chances(std::span<const DistinctRows> points) {
  std::vector<double> all;
  for (std::size_t i = 0; i < points.size(); ++i) all.push_back(chance(points, i));
  return all;
}

/// How far @p model's odds are off, in units of what chance and the model's own errors are to.
double residual(const IndexModel& model, const DistinctRows& point, double by_chance) {
  const DistinctRows predicted{point.lookups, distinct_rows(model, point.lookups)};
  return (log_odds(predicted) - log_odds(point)) / std::hypot(kErrorSpread, by_chance);
}

/// Whether the points have as many different rows as equally popular ones would give, or more.
bool are_even(std::span<const DistinctRows> points, std::span<const double> by_chance,
              const IndexModel& even) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (residual(even, points[i], by_chance[i]) > kByChance) return false;
  }
  return true;
}

void check(std::span<const DistinctRows> points) {
  if (points.size() < kFewestPoints) {
    throw std::invalid_argument{
        fmt::format("an index model has three parameters: {} batch sizes are too few", points.size())};
  }
  double before = 0;
  for (const DistinctRows& point : points) {
    if (!(point.distinct > 0 && point.distinct <= point.lookups)) {
      throw std::invalid_argument{
          fmt::format("{:g} different rows in {:g} lookups", point.distinct, point.lookups)};
    }
    if (!(point.lookups > before)) throw std::invalid_argument{"batch sizes do not grow from point to point"};
    before = point.lookups;
  }
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
  check(points);
  const std::vector<double> by_chance = chances(points);
  const IndexModel even{.rows = most_rows};
  if (are_even(points, by_chance, even)) return {even, errors_of(even, points), true};
  const Residuals residuals = [&](std::span<const double> p) {
    const IndexModel model = model_of(p, most_rows);
    std::vector<double> all;
    for (std::size_t i = 0; i < points.size(); ++i) {
      all.push_back(residual(model, points[i], by_chance[i]));
    }
    all.push_back((model.skew - kUsualSkew) / kSkewSpread);
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

std::vector<std::string> index_doubts(const IndexFit& fit, std::span<const DistinctRows> points,
                                      std::span<const double> held_out) {
  constexpr double kUsable = 0.1;
  constexpr double kFewRepeats = 20;
  std::vector<std::string> doubts;
  double error = 0;
  for (const double each : held_out) error += std::abs(each) / static_cast<double>(held_out.size());
  if (error > kUsable) {
    doubts.push_back(fmt::format(
        "different rows of the parts held out are missed by {:.0f} % on average: are the lines of "
        "one table, as the samples came (not sorted), and enough of them?",
        100 * error));
  }
  const DistinctRows& whole = points.back();
  if (!fit.is_even) return doubts;
  const double found = whole.lookups - whole.distinct;
  const double expected = whole.lookups - distinct_rows(fit.model, whole.lookups);
  if (residual(fit.model, whole, chance(points, points.size() - 1)) < -kByChance) {
    doubts.push_back(
        fmt::format("{:.0f} of {:.0f} lookups found a row of before, of rows drawn at random {:.0f} would: "
                    "are all rows of the table in its --rows, and are these its lookups as they came?",
                    found, whole.lookups, expected));
  } else if (found < kFewRepeats) {
    doubts.push_back(fmt::format(
        "{:.0f} of {:.0f} lookups found a row of before: too few to tell how popular rows are; give "
        "the bags of more samples",
        found, whole.lookups));
  }
  return doubts;
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
