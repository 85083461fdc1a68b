#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ops/kernels/embedding_load.hpp"
#include "search/sharding/model_costs.hpp"

namespace lockstep::sharding {
namespace {

constexpr int kBisections = 40;

/// A table cut into pieces that all are equally wide.
struct EqualPieces {
  Load all;       ///< of the pieces together
  Seconds alone;  ///< of a device that holds one of them and nothing else
};

/// The least that tables mean to all devices together where no piece takes more than @p longest: of each sum
/// on its own. Nothing where some table's narrowest pieces take more.
std::optional<Load> least_load(const std::vector<std::vector<EqualPieces>>& tables, Seconds longest) {
  Load load;
  for (const std::vector<EqualPieces>& widths : tables) {
    std::optional<Load> least;
    for (const EqualPieces& pieces : widths) {
      if (pieces.alone > longest) continue;
      if (!least) least = pieces.all;
      std::ranges::transform(least->sums, pieces.all.sums, least->sums.begin(),
                             [](double a, double b) { return std::min(a, b); });
    }
    if (!least) return std::nullopt;
    load.add(*least);
  }
  return load;
}

}  // namespace

/// What copies over shared links cost a plan. Of the devices that share a link the one with the most indices
/// is done no earlier than all their copies; the fewer the others have, the earlier these are done, but the
/// more the first one looks up.
class ModelCosts::CopiesBound {
 public:
  CopiesBound(const ModelCosts& costs, const Task& task, const Load& mean)
      : inputs_{*costs.setup_.inputs}, places_{static_cast<double>(task.places().size())} {
    const Weights weights = costs.deciding(mean);
    const InputCosts::Groups& groups = inputs_.groups();
    for (std::size_t number = 0; number < task.tables.size(); ++number) {
      const Table& table = task.tables[number];
      const double indices = task.indices_of(number);
      indices_ += indices;
      for (std::int64_t columns = table.shape.dimension;; columns /= 2) {
        const Load load = costs.cut_evenly(table, columns);
        const double lookups = std::inner_product(weights.begin(), weights.end(), load.sums.begin(), 0.0);
        const double pieces = static_cast<double>(table.shape.dimension) / static_cast<double>(columns);
        // A cut brings an index more for at most two pieces that are narrower than the table.
        const double more = columns < table.shape.dimension ? 0.5 : 0;
        offers_.push_back({Seconds{lookups / (pieces * indices)} * (groups.slowest / groups.together) +
                               more * inputs_.index() / groups.together,
                           pieces * indices});
        if (!task.can_halve(columns)) break;
      }
    }
    std::ranges::sort(offers_, {}, &Offer::each);
  }

  /// @param compute of a device in the mean, without inputs @param copies in the mean, each alone
  [[nodiscard]] bool may_do(Seconds time, Seconds compute, Seconds copies) const {
    const auto mean = [&](double first) {
      return compute + std::max(copies, inputs_.sum_at_least(first, indices_) / places_);
    };
    double low = indices_ / static_cast<double>(inputs_.groups().most), high = indices_;
    if (mean(high) > time) return false;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (low + high);
      (mean(middle) <= time ? high : low) = middle;
    }
    return inputs_.at_least(indices_) + lookups(low) <= time;
  }

 private:
  /// Pieces of a table, for the device of its group that has the most indices.
  struct Offer {
    Seconds each;    ///< that an index costs there, weighed by what its link brings of all links
    double indices;  ///< how many there are
  };

  /// The least that so many indices cost.
  [[nodiscard]] Seconds lookups(double indices) const {
    Seconds cost{0};
    for (const Offer& offer : offers_) {
      const double taken = std::min(indices, offer.indices);
      cost += taken * offer.each;
      indices -= taken;
    }
    return cost;
  }

  const InputCosts& inputs_;
  double places_;
  double indices_ = 0;
  std::vector<Offer> offers_;
};

/// Of each sum the share in what a device takes, at least, whatever it holds: 1 where it decides with @p
/// load.
ModelCosts::Weights ModelCosts::deciding(const Load& load) const {
  Weights weights{};
  const double groups = bags_at_a_time(0, setup_.gpu);
  for (const std::size_t first : {std::size_t{0}, kBackward}) {
    const double* const sums = load.sums.data() + first;
    const double waits = sums[kWaits] / groups + sums[kBlockWaits];
    const double most = std::max({sums[kDram], sums[kLevel2], waits, sums[kHost]});
    if (waits == most) {
      weights[first + kWaits] = 1 / groups;
      weights[first + kBlockWaits] = 1;
    } else {
      weights[first + (sums[kDram] == most ? kDram : sums[kLevel2] == most ? kLevel2 : kHost)] = 1;
    }
  }
  weights[kPasses] = 1;
  return weights;
}

/// The sums of a table that is cut into pieces of @p columns each, as they count on a device where no piece
/// is wider; its longest bag may hide behind the rest.
Load ModelCosts::cut_evenly(const Table& table, std::int64_t columns) const {
  Load load = load_of(table, columns);
  for (double& sum : load.sums) {
    sum *= static_cast<double>(table.shape.dimension) / static_cast<double>(columns);
  }
  const double groups = bags_at_a_time(0, setup_.gpu) / bags_at_a_time(columns, setup_.gpu);
  load.sums[kWaits] *= groups;
  load.sums[kBackward + kWaits] *= groups;
  load.largest = 0;
  load.widest = 0;
  return load;
}

Seconds ModelCosts::at_least(const Task& task) const {
  std::vector<std::vector<EqualPieces>> tables;
  const auto places = static_cast<double>(task.places().size());
  double width = 0, indices = 0;
  for (std::size_t number = 0; number < task.tables.size(); ++number) {
    const Table& table = task.tables[number];
    auto& widths = tables.emplace_back();
    for (std::int64_t columns = table.shape.dimension;; columns /= 2) {
      widths.push_back({cut_evenly(table, columns), compute(load_of(table, columns))});
      if (!task.can_halve(columns)) break;
    }
    width += static_cast<double>(table.shape.dimension);
    indices += task.indices_of(number);
  }
  const Seconds exchanges = setup_.exposed * (forward_.at_least(width) + backward_.at_least(width));
  const Seconds inputs = setup_.inputs != nullptr ? setup_.inputs->at_least(indices) : Seconds{0};
  const Seconds copied = inputs + 2 * setup_.gpu.kernel_minimum;
  // Whether all devices, equally busy, can be done within the time: the less there is of it, the narrower the
  // pieces and the more of them.
  const auto may_do = [&](Seconds time) {
    std::optional<Load> load = least_load(tables, time);
    if (!load) return false;
    for (double& sum : load->sums) {
      sum /= places;
    }
    if (std::max(compute(*load), copied) > time) return false;
    if (setup_.inputs == nullptr) return true;
    const Seconds copies{std::exchange(load->sums[kInputs], 0)};
    return CopiesBound{*this, task, *load}.may_do(time, compute(*load), copies);
  };
  Seconds low{0}, high{1e-6};
  while (!may_do(high)) {
    low = high;
    high = 2 * high;
  }
  for (int i = 0; i < kBisections; ++i) {
    const Seconds middle = 0.5 * (low + high);
    (may_do(middle) ? high : low) = middle;
  }
  return exchanges + low;
}

}  // namespace lockstep::sharding
