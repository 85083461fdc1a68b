#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// How factors around 1 are distributed.
enum class Distribution : std::uint8_t {
  None,         ///< always 1
  Uniform,      ///< between 1 - sqrt(3) v and 1 + sqrt(3) v; v below 1 / sqrt(3)
  Normal,       ///< v at most 0.25, so that no factor is negative
  Lognormal,    ///< skewed to the right, as run times are; v at most 1
  Exponential,  ///< 1 - v, and an exponential tail of mean v; v at most 1
  Measured,     ///< lognormal with a measured v, which whoever knows it puts in its place
};

constexpr auto names_of(Distribution /*unused*/) {
  return std::to_array<EnumName<Distribution>>({{Distribution::None, "none"},
                                                {Distribution::Uniform, "uniform"},
                                                {Distribution::Normal, "normal"},
                                                {Distribution::Lognormal, "lognormal"},
                                                {Distribution::Exponential, "exponential"},
                                                {Distribution::Measured, "measured"}});
}

/// Written `none`, `measured`, `lognormal 0.05` or as a mapping.
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

/// Factors of mean 1 and a given coefficient of variation, from uniform random bits: 4096 equally likely
/// values, the quantiles of the distribution at (i + 1/2) / 4096, moved and stretched so that they
/// themselves, not just the distribution they stand for, have that mean and variation. The tails end at 3.7
/// standard deviations of a normal distribution. Single precision keeps the table in a third of a first-level
/// cache.
class Jitter {
 public:
  /// Always 1.
  Jitter() = default;

  /// @throws std::invalid_argument as JitterSpec::check(), and for Measured
  explicit Jitter(const JitterSpec& spec);

  [[nodiscard]] double factor(std::uint32_t uniform) const { return view().factor(uniform); }

  /// For loops: a copy costs nothing. Not to be used after the Jitter's end.
  class View {
   public:
    [[nodiscard]] double factor(std::uint32_t uniform) const { return quantiles_[uniform >> (32 - kBits)]; }

   private:
    friend class Jitter;
    explicit View(const float* quantiles) : quantiles_{quantiles} {}
    const float* quantiles_;
  };
  [[nodiscard]] View view() const { return View{quantiles_ ? quantiles_->data() : kOnes.data()}; }

  [[nodiscard]] bool varies() const { return quantiles_ != nullptr; }

  /// Uses @p other's table if it is the same, so that two jitters need one place in the caches.
  void share_table(const Jitter& other) {
    if (quantiles_ && other.quantiles_ && *quantiles_ == *other.quantiles_) {
      quantiles_ = other.quantiles_;
    }
  }

 private:
  static constexpr unsigned kBits = 12;
  using Quantiles = std::array<float, 1U << kBits>;

  static constexpr Quantiles kOnes = [] {
    Quantiles ones{};
    ones.fill(1);
    return ones;
  }();

  static Quantiles table(const JitterSpec& spec);

  std::shared_ptr<const Quantiles> quantiles_;  ///< none for Distribution::None
};

}  // namespace lockstep
