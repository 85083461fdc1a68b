#include "search/sharding/divided_work.hpp"

namespace lockstep::sharding {
namespace {

constexpr int kSections = 60, kRounds = 3;
constexpr double kLeastPrice = 1e-9;
constexpr double kGolden = 0.6180339887498949;

class Prices {
 public:
  explicit Prices(std::span<const AlikeMachines> kinds)
      : kinds_{kinds}, prices_(kinds.size(), 1 / static_cast<double>(kinds.size())) {}

  [[nodiscard]] std::size_t cheapest(std::size_t job) const {
    std::size_t best = 0;
    for (std::size_t kind = 1; kind < kinds_.size(); ++kind) {
      if (cost(kind, job) < cost(best, job)) {
        best = kind;
      }
    }
    return best;
  }

  [[nodiscard]] Seconds bound() const {
    Seconds sum;
    for (std::size_t job = 0; job < kinds_.front().times.size(); ++job) {
      sum += cost(cheapest(job), job);
    }
    return sum;
  }

  /// The price of @p kind for which the bound is largest; those of the others keep their proportions. Golden
  /// sections: the bound is concave.
  void raise(std::size_t kind) {
    double low = kLeastPrice, high = 1 - kLeastPrice;
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    Seconds at_left = bound_with(kind, left), at_right = bound_with(kind, right);
    for (int i = 0; i < kSections; ++i) {
      if (at_left < at_right) {
        low = left;
        left = right;
        at_left = at_right;
        right = low + kGolden * (high - low);
        at_right = bound_with(kind, right);
      } else {
        high = right;
        right = left;
        at_right = at_left;
        left = high - kGolden * (high - low);
        at_left = bound_with(kind, left);
      }
    }
    set(kind, 0.5 * (low + high));
  }

 private:
  [[nodiscard]] Seconds cost(std::size_t kind, std::size_t job) const {
    return prices_[kind] / kinds_[kind].machines * kinds_[kind].times[job];
  }

  Seconds bound_with(std::size_t kind, double price) {
    set(kind, price);
    return bound();
  }

  void set(std::size_t kind, double price) {
    const double scale = (1 - price) / (1 - prices_[kind]);
    for (double& other : prices_) {
      other *= scale;
    }
    prices_[kind] = price;
  }

  std::span<const AlikeMachines> kinds_;
  std::vector<double> prices_;
};

}  // namespace

DividedWork divided_work(std::span<const AlikeMachines> kinds) {
  Prices prices{kinds};
  for (int round = 0; round < kRounds && kinds.size() > 1; ++round) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      prices.raise(kind);
    }
  }
  DividedWork work{.least = prices.bound(), .kind_of = {}};
  for (std::size_t job = 0; job < kinds.front().times.size(); ++job) {
    work.kind_of.push_back(prices.cheapest(job));
  }
  return work;
}

}  // namespace lockstep::sharding
