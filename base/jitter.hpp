#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/random.hpp"

namespace lockstep {

/// How factors around 1 are distributed.
enum class Distribution : std::uint8_t {
  None,         ///< always 1
  Uniform,      ///< between 1 - sqrt(3) v and 1 + sqrt(3) v; v below 1 / sqrt(3)
  Normal,       ///< v at most 0.25, so that no factor is negative
  Lognormal,    ///< skewed to the right, as run times are; v at most 1
  Exponential,  ///< 1 - v, and an exponential tail of mean v; v at most 1
};

constexpr auto names_of(Distribution /*unused*/) {
  return std::to_array<EnumName<Distribution>>({{Distribution::None, "none"},
                                                {Distribution::Uniform, "uniform"},
                                                {Distribution::Normal, "normal"},
                                                {Distribution::Lognormal, "lognormal"},
                                                {Distribution::Exponential, "exponential"}});
}

/// Written `none`, `lognormal 0.05` or as a mapping.
struct JitterSpec {
  Distribution distribution = Distribution::None;
  double variation = 0;

  /// @throws std::invalid_argument
  static JitterSpec parse(const std::string& text);

  template <class Visitor>
  static void describe(Visitor& key, JitterSpec& jitter) {
    key.required("distribution", jitter.distribution, "of the factors, whose mean is 1");
    key.optional("variation", jitter.variation, 0,
                 "standard deviation of the factors over their mean, e.g. 0.05");
  }

  /// @throws FieldError when the distribution does not allow the variation
  void check() const;
};

/// Random factors of mean 1 and a given coefficient of variation, by index: the inverse of the distribution
/// function, tabulated at 4096 steps and interpolated linearly, of a Random's uniform number. The table
/// itself, not just the distribution it stands for, has that mean and variation; its tails end at the
/// quantiles 1/8194 (3.7 standard deviations of a normal distribution). A few ns a factor; copies share the
/// table.
class Jitter {
 public:
  /// @throws std::invalid_argument as JitterSpec::check()
  Jitter(const JitterSpec& spec, const Random& random);

  /// The jitter of one member of a family, e.g. of one rank; shares the table.
  [[nodiscard]] Jitter of(std::uint64_t member) const {
    Jitter jitter = *this;
    jitter.random_ = random_.of(member);
    return jitter;
  }

  [[nodiscard]] double factor(std::uint64_t index) const { return from(0).factor(index); }

  /// The factors from one index on, for loops: a copy costs nothing. Not to be used after the Jitter's end.
  class Row {
   public:
    [[nodiscard]] double factor(std::uint64_t index) const {
      if (quantiles_ == nullptr) {
        return 1;
      }
      const std::uint64_t bits = random_.bits(index);
      const std::size_t step = bits >> (64U - kStepBits);
      // What the upper bits leave of the 53 that a double holds: Random::uniform() in units of a step.
      const auto rest = static_cast<std::int64_t>(bits >> 11U & ((1ULL << (53U - kStepBits)) - 1));
      const double low = quantiles_[step];
      return low + static_cast<double>(rest) * kRestUnit * (quantiles_[step + 1] - low);
    }

   private:
    friend class Jitter;
    Row(const double* quantiles, const Random& random) : quantiles_{quantiles}, random_{random} {}
    const double* quantiles_;  // null: none
    Random random_;
  };
  [[nodiscard]] Row from(std::uint64_t first) const {
    return {quantiles_ ? quantiles_->data() : nullptr, random_.from(first)};
  }

 private:
  static constexpr unsigned kStepBits = 12;
  static constexpr int kSteps = 1 << kStepBits;
  static constexpr double kRestUnit = 0x1p-41;  // 2^(kStepBits - 53)
  using Quantiles = std::array<double, kSteps + 1>;

  static Quantiles table(const JitterSpec& spec);

  std::shared_ptr<const Quantiles> quantiles_;  ///< none for Distribution::None
  Random random_;
};

}  // namespace lockstep
