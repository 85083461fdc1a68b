#include <algorithm>
#include <optional>
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
    return std::max(compute(*load), copied) <= time;
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
