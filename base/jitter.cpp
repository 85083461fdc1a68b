#include "base/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/parse_units.hpp"
#include "base/portable_math.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

/// Shifts and stretches the values to mean 1 and the given variation.
void standardise(std::span<double> values, double variation) {
  const Moments before = moments_of(values);
  for (double& value : values) {
    value = 1 + (value - before.mean) * (variation / before.deviation);
  }
}

/// exp(sigma z) over its mean; sigma such that the variation is the wanted one although the tails are cut.
/// The iteration starts from sigma^2 = log(1 + v^2), the relation for the whole distribution, and closes in
/// fast.
void make_lognormal(std::span<double> values, double variation) {
  const std::vector<double> normal{values.begin(), values.end()};
  double sigma = std::sqrt(portable_log(1 + variation * variation));
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = portable_exp(sigma * normal[i]);
    }
    const Moments now = moments_of(values);
    for (double& value : values) {
      value /= now.mean;
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
    case Distribution::Measured:
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
    case Distribution::Measured:
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
  } else if (spec.distribution != Distribution::None && spec.distribution != Distribution::Measured) {
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

Jitter::Jitter(const JitterSpec& spec) {
  spec.check();
  if (spec.distribution == Distribution::Measured) {
    throw std::invalid_argument{"a measured variation has no value of its own"};
  }
  if (spec.variation > 0) {
    quantiles_ = std::make_shared<const Quantiles>(table(spec));
  }
}

Jitter::Quantiles Jitter::table(const JitterSpec& spec) {
  Quantiles table{};
  std::vector<double> values(table.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        quantile(spec.distribution, (static_cast<double>(i) + 0.5) / static_cast<double>(values.size()));
  }
  if (spec.distribution == Distribution::Lognormal) {
    make_lognormal(values, spec.variation);
  } else {
    standardise(values, spec.variation);
  }
  std::transform(values.begin(), values.end(), table.begin(),
                 [](double value) { return static_cast<float>(value); });
  return table;
}

}  // namespace lockstep
