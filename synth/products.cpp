#include "synth/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::synth {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;

double power(double base, int exponent) {
  double value = 1;
  for (int i = 0; i < std::abs(exponent); ++i) value *= base;
  return exponent < 0 ? 1 / value : value;
}

/// Description length of the factor of a product; none: it is no small fraction.
double cost_of_factor(double factor) {
  constexpr double kMost = 512;
  if (factor == 1) return 0;
  for (const double q : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    const double p = std::round(factor * q);
    if (p >= 1 && p <= kMost && std::abs(p - factor * q) < kTolerance * p) {
      const bool is_doubled = std::has_single_bit(static_cast<unsigned>(p));
      return (is_doubled ? 1 + std::log2(p) / 2 : 1.5 + std::log2(p)) + 2 * std::log2(q);
    }
  }
  return kNone;
}

/// Description length of a number without symbols.
double cost_of_number(double number) {
  return 1.5 + std::log2(std::max(number, 1.0));
}

/// Powers that a symbol can have in a size.
std::span<const int> powers_of(const std::string& name) {
  static constexpr std::array kTwice{0, 1, 2};
  static constexpr std::array kOnce{0, 1};
  static constexpr std::array kBelow{0, 1, -1};
  if (name == "hidden" || name == "sequence") return kTwice;
  if (name == "head_size" || name == "tensor") return kBelow;
  return kOnce;
}

/// Layers and ranks repeat what is done: they are in no shape.
bool is_of_shapes(const std::string& name) {
  return name != "layers" && name != "ranks";
}

std::vector<std::string> shape_symbols(std::span<const Symbols> jobs) {
  std::vector<std::string> names;
  for (const auto& symbol : jobs.front()) {
    const std::string& name = symbol.first;
    const bool everywhere = std::ranges::all_of(jobs, [&](const Symbols& job) { return job.contains(name); });
    if (everywhere && is_of_shapes(name)) names.push_back(name);
  }
  return names;
}

class ProductSearch {
 public:
  ProductSearch(std::span<const double> values, std::span<const Symbols> jobs)
      : values_{values}, jobs_{jobs}, names_{shape_symbols(jobs)} {}

  Monomial best() && {
    best_.factor = values_.front();
    descend(0, 0, std::vector<double>(values_.begin(), values_.end()));
    return best_;
  }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  void descend(std::size_t symbol, double cost, const std::vector<double>& rest) {
    if (cost >= cost_) return;
    if (symbol == names_.size()) {
      const bool same = std::ranges::all_of(rest, [&](double factor) {
        return std::abs(factor - rest.front()) <= kTolerance * std::abs(rest.front());
      });
      const double factor = powers_.empty() ? cost_of_number(rest.front()) : cost_of_factor(rest.front());
      const bool is_odd = factor > 0 && powers_.contains("sequence") && !powers_.contains("batch");
      const double total = same && means_something() ? cost + factor + (is_odd ? 1 : 0) : kNone;
      if (total < cost_) {
        cost_ = total;
        best_ = {rest.front(), powers_, false};
      }
      return;
    }
    for (const int exponent : powers_of(names_[symbol])) {
      std::vector<double> left = rest;
      for (std::size_t job = 0; job < left.size(); ++job) {
        left[job] /= power(jobs_[job].at(names_[symbol]), exponent);
      }
      if (exponent != 0) powers_[names_[symbol]] = exponent;
      descend(symbol + 1, cost + std::abs(exponent), left);
      powers_.erase(names_[symbol]);
    }
  }

  /// Heads are hidden over head_size; the size of one stands alone.
  [[nodiscard]] bool means_something() const {
    const auto head_size = powers_.find("head_size");
    if (head_size == powers_.end()) return true;
    return powers_.contains("hidden") == (head_size->second < 0);
  }

  std::span<const double> values_;
  std::span<const Symbols> jobs_;
  std::vector<std::string> names_;
  std::map<std::string, int> powers_;
  Monomial best_;
  double cost_ = kNone;
};

}  // namespace

double Monomial::value(const Symbols& symbols, double parameters) const {
  double product = factor;
  for (const auto& [name, exponent] : powers) product *= power(symbols.at(name), exponent);
  return with_parameters ? product * parameters : product;
}

std::string to_text(const Monomial& monomial) {
  std::string text =
      monomial.factor == 1 && !monomial.powers.empty() ? "" : fmt::format("{:.6g}", monomial.factor);
  for (const bool below : {false, true}) {
    for (const auto& [name, exponent] : monomial.powers) {
      if ((exponent < 0) != below) continue;
      text += below ? "/" : text.empty() ? "" : "*";
      text += name + (std::abs(exponent) > 1 ? fmt::format("^{}", std::abs(exponent)) : "");
    }
  }
  return monomial.with_parameters ? text + "*parameters" : text;
}

Monomial simplest_product(std::span<const double> values, std::span<const Symbols> symbols) {
  return ProductSearch{values, symbols}.best();
}

}  // namespace lockstep::synth
