#include "generate/runtime/indices.cuh"

#include <algorithm>
#include <cmath>

namespace benchmark {
namespace {

double field(const Fields& fields, const char* name, double otherwise) {
  const auto found = fields.find(name);
  return found == fields.end() ? otherwise : found->second;
}

/// The rank, counted from 0, of a draw by Zipf's law: the integral of x^-zipf inverted.
std::int64_t zipf_rank(double zipf, double rows, double uniform) {
  const double from = 0.5;
  const double to = rows + 0.5;
  const double power = 1 - zipf;
  const double x =
      std::abs(power) < 1e-9
          ? from * std::pow(to / from, uniform)
          : std::pow(std::pow(from, power) + uniform * (std::pow(to, power) - std::pow(from, power)),
                     1 / power);
  return static_cast<std::int64_t>(x + 0.5) - 1;
}

/// Share of the rows that are less popular than one of so much.
double below(double z) {
  return 0.5 * std::erfc(-z * 0.70710678118654752);
}

}  // namespace

std::uint64_t RandomNumbers::bits() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

double RandomNumbers::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.28318530717958648 * uniform());
}

std::vector<std::int64_t> draw_rows(const Fields& table, std::int64_t look_ups, RandomNumbers& random) {
  const double rows = std::max(field(table, "rows", 1), 1.0);
  const double active = std::clamp(std::floor(rows * field(table, "active_rows", 1)), 1.0, rows);
  const double reuse = field(table, "reuse_factor", 0);
  const double zipf = field(table, "zipf", 0);
  const double skew = field(table, "index_skew", 0) * 0.69314718055994531;
  const auto repeats = std::max<std::int64_t>(std::llround(field(table, "index_duplication", 1)), 1);
  const double distinct =
      std::clamp(std::floor(static_cast<double>(look_ups) / std::max(reuse, 1.0)), 1.0, rows);
  const auto whole = static_cast<std::uint64_t>(rows);
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(look_ups));
  std::int64_t next = 0;
  while (static_cast<std::int64_t>(drawn.size()) < look_ups) {
    double rank = 0;
    if (reuse > 0) {
      rank = static_cast<double>(next++ % static_cast<std::int64_t>(distinct));
    } else if (zipf > 0) {
      rank = static_cast<double>(zipf_rank(zipf, active, random.uniform()));
    } else {
      rank = std::floor(active * (skew > 0 ? below(random.normal() + skew) : random.uniform()));
    }
    const auto number = static_cast<std::uint64_t>(std::clamp(rank, 0.0, rows - 1));
    // An odd multiplier spreads neighbours; what it maps onto one another is one in `rows`.
    const auto row = static_cast<std::int64_t>(number * 0x9e3779b1U % whole);
    for (std::int64_t i = 0; i < repeats && static_cast<std::int64_t>(drawn.size()) < look_ups; ++i) {
      drawn.push_back(row);
    }
  }
  return drawn;
}

}  // namespace benchmark
