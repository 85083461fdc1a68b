#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ops/kernels/embedding_load.hpp"
#include "search/sharding/divided_work.hpp"
#include "search/sharding/model_costs.hpp"

namespace lockstep::sharding {

/// A table cut into pieces that all are equally wide.
struct EqualPieces {
  Load all;       ///< of the pieces together
  Seconds alone;  ///< of a device that holds one of them and nothing else
};

/// A table, cut into pieces of each width.
using Widths = std::vector<EqualPieces>;

namespace {

constexpr int kBisections = 40;

/// The least that a table means to all devices together where no piece takes more than @p longest: of each
/// sum on its own. Nothing where its narrowest pieces take more.
std::optional<Load> least_load(const Widths& widths, Seconds longest) {
  std::optional<Load> least;
  for (const EqualPieces& pieces : widths) {
    if (pieces.alone > longest) continue;
    if (!least) least = pieces.all;
    std::ranges::transform(least->sums, pieces.all.sums, least->sums.begin(),
                           [](double a, double b) { return std::min(a, b); });
  }
  return least;
}

}  // namespace

/// The cost of copies over shared links in a plan, at least. Of the devices that share a link, the one with
/// the most indices is done no earlier than all their copies. The fewer the others have, the earlier they are
/// done, but the more the first one looks up.
class ModelCosts::CopiesBound {
 public:
  /// @param mean load of the devices, which all are of its kind
  CopiesBound(const ModelCosts& costs, const Task& task, const Load& mean)
      : inputs_{*costs.setup_.inputs}, places_{static_cast<double>(task.places().size())} {
    const Weights weights = costs.deciding(mean);
    const InputCosts::Groups& groups = inputs_.groups();
    for (std::size_t number = 0; number < task.tables.size(); ++number) {
      const Table& table = task.tables[number];
      const double indices = task.indices_of(number);
      indices_ += indices;
      for (std::int64_t columns = table.shape.dimension;; columns /= 2) {
        const Load load = costs.cut_evenly(table, columns, mean.kind);
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

/// The share of each sum in the time of a device, at least, whatever it holds: 1 where the sum decides with
/// @p load.
ModelCosts::Weights ModelCosts::deciding(const Load& load) const {
  Weights weights{};
  const double groups = bags_at_a_time(0, kinds_[load.kind].gpu);
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
Load ModelCosts::cut_evenly(const Table& table, std::int64_t columns, std::uint32_t kind) const {
  Load load = load_of(table, columns, kind);
  for (double& sum : load.sums) {
    sum *= static_cast<double>(table.shape.dimension) / static_cast<double>(columns);
  }
  const GpuSpec& gpu = kinds_[kind].gpu;
  const double groups = bags_at_a_time(0, gpu) / bags_at_a_time(columns, gpu);
  load.sums[kWaits] *= groups;
  load.sums[kBackward + kWaits] *= groups;
  load.largest = 0;
  load.widest = 0;
  return load;
}

/// The share of each sum in the time of a device, at least, whatever it holds. The bound is exact where it
/// holds as much of each as @p load: a tangent of compute() beside its launches.
ModelCosts::Weights ModelCosts::tangent(const Load& load) const {
  Weights weights = deciding(load);  // what it has of the backward pass is one
  const double groups = bags_at_a_time(0, kinds_[load.kind].gpu);
  const double waits = load.sums[kWaits] / groups + load.sums[kBlockWaits];
  const Seconds forward = look_up_time(
      {Seconds{waits}, Seconds{load.sums[kDram]}, Seconds{load.sums[kLevel2]}, Seconds{load.sums[kHost]}});
  const auto slope = [&](double part) { return std::pow(part / (forward / Seconds{1}), 3); };
  if (forward > Seconds{0}) {
    weights[kWaits] = slope(waits) / groups;
    weights[kBlockWaits] = slope(waits);
    for (const std::size_t sum : {kDram, kLevel2, kHost}) {
      weights[sum] = slope(load.sums[sum]);
    }
  }
  weights[kInputs] = 1;
  return weights;
}

/// Whether devices can be done within a time, each at its own speed.
class ModelCosts::KindsBound {
 public:
  KindsBound(const ModelCosts& costs, const Task& task) : costs_{costs}, task_{task} {
    for (const std::uint32_t device : task.places()) {
      devices_[costs.kind_of(device)] += 1;
    }
    const std::vector<GpuSpec>& gpus = costs.setup_.gpus;
    Seconds least_kernel = gpus[devices_.begin()->first].kernel_minimum;
    launches_ = costs.kinds_[devices_.begin()->first].launches();
    for (const auto& [kind, devices] : devices_) {
      tables_[kind] = tables_in_pieces(kind);
      least_kernel = std::min(least_kernel, gpus[kind].kernel_minimum);
      launches_ = std::min(launches_, costs.kinds_[kind].launches());
    }
    double indices = 0;
    for (std::size_t table = 0; table < task.tables.size(); ++table) {
      indices += task.indices_of(table);
    }
    const InputCosts* const inputs = costs.setup_.inputs;
    copied_ = (inputs != nullptr ? inputs->at_least(indices) : Seconds{0}) + 2 * least_kernel;
  }

  [[nodiscard]] bool may_do(Seconds time) const {
    return copied_ <= time && (devices_.size() == 1 ? alike_may_do(time) : unlike_may_do(time));
  }

 private:
  using Tables = std::vector<Widths>;

  [[nodiscard]] Tables tables_in_pieces(std::uint32_t kind) const {
    Tables tables;
    for (const Table& table : task_.tables) {
      Widths& widths = tables.emplace_back();
      for (std::int64_t columns = table.shape.dimension;; columns /= 2) {
        widths.push_back(
            {costs_.cut_evenly(table, columns, kind), costs_.compute(costs_.load_of(table, columns, kind))});
        if (!task_.can_halve(columns)) break;
      }
    }
    return tables;
  }

  /// All equally busy: the less time there is, the narrower the pieces and the more of them.
  [[nodiscard]] bool alike_may_do(Seconds time) const {
    Load load;
    for (const Widths& widths : tables_.begin()->second) {
      const std::optional<Load> least = least_load(widths, time);
      if (!least) return false;
      load.add(*least);
    }
    for (double& sum : load.sums) {
      sum /= devices_.begin()->second;
    }
    if (costs_.compute(load) > time) return false;
    if (costs_.setup_.inputs == nullptr) return true;
    const Seconds copies{std::exchange(load.sums[kInputs], 0)};
    return CopiesBound{costs_, task_, load}.may_do(time, costs_.compute(load), copies);
  }

  /// A table's time on devices of a kind is linear in how much of it they have, at least. The bound takes the
  /// tangents at all tables, and again at those that were theirs then.
  [[nodiscard]] bool unlike_may_do(Seconds time) const {
    std::map<std::uint32_t, std::vector<std::optional<Load>>> loads;
    for (const auto& [kind, tables] : tables_) {
      for (const Widths& widths : tables) {
        loads[kind].push_back(least_load(widths, time));
      }
    }
    std::map<std::uint32_t, Load> held;
    for (const auto& [kind, of_tables] : loads) {
      for (const std::optional<Load>& load : of_tables) {
        if (load) held[kind].add(*load);
      }
    }
    for (int round = 0; round < 2; ++round) {
      std::vector<AlikeMachines> machines;
      std::vector<std::uint32_t> kinds;
      for (const auto& [kind, of_tables] : loads) {
        kinds.push_back(kind);
        machines.push_back({devices_.at(kind), times(of_tables, held[kind])});
      }
      const DividedWork work = divided_work(machines);
      if (launches_ + work.least > time) return false;
      std::map<std::uint32_t, Load> theirs;
      for (std::size_t table = 0; table < work.kind_of.size(); ++table) {
        const std::uint32_t kind = kinds[work.kind_of[table]];
        theirs[kind].add(*loads[kind][table]);
      }
      for (const auto& [kind, load] : theirs) {
        held[kind] = load;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<Seconds> times(const std::vector<std::optional<Load>>& tables,
                                           const Load& held) const {
    const Weights weights = costs_.tangent(held);
    std::vector<Seconds> times;
    for (const std::optional<Load>& load : tables) {
      times.emplace_back(load ? std::inner_product(weights.begin(), weights.end(), load->sums.begin(), 0.0)
                              : std::numeric_limits<double>::infinity());
    }
    return times;
  }

  const ModelCosts& costs_;
  const Task& task_;
  std::map<std::uint32_t, double> devices_;  // by kind, that take tables
  std::map<std::uint32_t, Tables> tables_;
  Seconds launches_;  // of a device that holds anything
  Seconds copied_;
};

Seconds ModelCosts::at_least(const Task& task) const {
  double width = 0;
  for (const Table& table : task.tables) {
    width += static_cast<double>(table.shape.dimension);
  }
  const Seconds exchanges = setup_.exposed * (forward_.at_least(width) + backward_.at_least(width));
  const KindsBound bound{*this, task};
  Seconds low{0}, high{1e-6};
  while (!bound.may_do(high)) {
    low = high;
    high = 2 * high;
  }
  for (int i = 0; i < kBisections; ++i) {
    const Seconds middle = 0.5 * (low + high);
    (bound.may_do(middle) ? high : low) = middle;
  }
  return exchanges + low;
}

}  // namespace lockstep::sharding
