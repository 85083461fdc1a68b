#include "base/jitter.hpp"

#include <cmath>
#include <span>

#include "base/parse_units.hpp"
#include "base/portable_math.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace {

/// Of the piecewise linear function through equidistant @p knots, over a uniform argument: with a segment
/// from a to b, the mean of x is (a + b) / 2 and that of x^2 is (a^2 + a b + b^2) / 3.
struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(std::span<const double> knots) {
  double sum = 0;
  double squares = 0;
  const auto segments = static_cast<double>(knots.size() - 1);
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    const double a = knots[i];
    const double b = knots[i + 1];
    sum += (a + b) / 2;
    squares += (a * a + a * b + b * b) / 3;
  }
  const double mean = sum / segments;
  return {mean, std::sqrt(squares / segments - mean * mean)};
}

/// Shifts and stretches the knots to mean 1 and the given variation.
void standardise(std::span<double> knots, double variation) {
  const Moments before = moments_of(knots);
  for (double& knot : knots) {
    knot = 1 + (knot - before.mean) * (variation / before.deviation);
  }
}

/// exp(sigma z) over its mean; sigma such that the variation is the wanted one although the tails are cut.
/// The iteration starts from sigma^2 = log(1 + v^2), the relation for the whole distribution, and closes in
/// fast.
void make_lognormal(std::span<double> knots, double variation) {
  const std::vector<double> normal{knots.begin(), knots.end()};
  double sigma = std::sqrt(portable_log(1 + variation * variation));
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < knots.size(); ++i) {
      knots[i] = portable_exp(sigma * normal[i]);
    }
    const Moments now = moments_of(knots);
    for (double& knot : knots) {
      knot /= now.mean;
    }
    const double reached = now.deviation / now.mean;
    if (std::abs(reached - variation) <= 1e-12 * variation) {
      return;
    }
    sigma *= variation / reached;
  }
}

double quantile(Distribution distribution, double p) {
  switch (distribution) {
    case Distribution::Normal:
    case Distribution::Lognormal:
      return normal_quantile(p);
    case Distribution::Exponential:
      return -portable_log(1 - p);
    case Distribution::Uniform:
    case Distribution::None:
      break;
  }
  return p;
}

double largest_variation(Distribution distribution) {
  switch (distribution) {
    case Distribution::Uniform:
      return 0.57;  // 1 / sqrt(3) = 0.577: the least factor is positive
    case Distribution::Normal:
      return 0.25;  // the table ends at 3.7 standard deviations: the least factor is 0.07
    case Distribution::Lognormal:
    case Distribution::Exponential:
      return 1;
    case Distribution::None:
      break;
  }
  return 0;
}

}  // namespace

JitterSpec JitterSpec::parse(const std::string& text) {
  const auto blank = text.find(' ');
  const std::string name = text.substr(0, blank);
  JitterSpec spec;
  bool known = false;
  for (const auto& [value, candidate] : names_of(Distribution{})) {
    if (name == candidate) {
      spec.distribution = value;
      known = true;
    }
  }
  if (!known) {
    throw std::invalid_argument{"there is no distribution '" + name + "'" +
                                did_you_mean(name, all_names_of<Distribution>())};
  }
  if (blank != std::string::npos) {
    lockstep::parse(text.substr(text.find_first_not_of(' ', blank)), spec.variation);
  } else if (spec.distribution != Distribution::None) {
    throw std::invalid_argument{"expected a distribution and its variation, e.g. " + name + " 0.05"};
  }
  spec.check();
  return spec;
}

void JitterSpec::check() const {
  const double most = largest_variation(distribution);
  if (!(variation >= 0) || variation > most) {
    throw FieldError{"variation",
                     fmt::format("{} is not possible for the distribution '{}': expected 0 to {}", variation,
                                 name_of(distribution), most)};
  }
}

Jitter::Jitter(const JitterSpec& spec, const Random& random) : random_{random} {
  spec.check();
  if (spec.variation > 0) {
    quantiles_ = std::make_shared<const Quantiles>(table(spec));
  }
}

Jitter::Quantiles Jitter::table(const JitterSpec& spec) {
  Quantiles knots{};
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(knots.size());
    knots[i] = quantile(spec.distribution, p);
  }
  if (spec.distribution == Distribution::Lognormal) {
    make_lognormal(knots, spec.variation);
  } else {
    standardise(knots, spec.variation);
  }
  return knots;
}

}  // namespace lockstep
