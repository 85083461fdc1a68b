#include "calibration/collectives/collective_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "calibration/collectives/measured_machine.hpp"
#include "calibration/collectives/profile_numbers.hpp"
#include "calibration/least_squares.hpp"

namespace lockstep {
namespace {

using namespace literals;

constexpr double kErrorSpread = 0.05;    // a relative error of the model that is no surprise
constexpr double kSizesPerDoubling = 3;  // more say nothing new, and would outweigh other runs
constexpr Seconds kAddedStart = 3_us;    // one launch
constexpr double kAddedSpread = 2;
constexpr Bytes kSmall = 4_KiB;  // below it no bandwidth is to be seen
constexpr double kMoved = 1e-3;
constexpr double kPlausibleSpreads = 3;

/// A curve is the rows of one run, collective and group.
using Curve = std::tuple<std::size_t, CollectiveKind, int, int>;

std::map<Curve, std::vector<std::size_t>> curves_of(const CollectiveMeasurements& measurements) {
  std::map<Curve, std::vector<std::size_t>> curves;
  for (std::size_t i = 0; i < measurements.rows.size(); ++i) {
    const CollectiveMeasurement& row = measurements.rows[i];
    curves[{row.run, row.kind, row.nodes, row.gpus_per_node}].push_back(i);
  }
  for (auto& [curve, rows] : curves) {
    std::ranges::sort(rows, {}, [&](std::size_t i) { return measurements.rows[i].size; });
  }
  return curves;
}

std::vector<bool> held_out_rows(const CollectiveMeasurements& measurements, const HeldOut& wanted) {
  std::vector<bool> held(measurements.rows.size());
  for (const auto& [curve, rows] : curves_of(measurements)) {
    std::size_t sizes = 0;  // the rows of one size stay together, whatever they differ in
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CollectiveMeasurement& row = measurements.rows[rows[i]];
      sizes += i == 0 || row.size != measurements.rows[rows[i - 1]].size ? 1 : 0;
      const bool by_size = wanted.every > 0 && sizes % static_cast<std::size_t>(wanted.every) == 0;
      held[rows[i]] = by_size || wanted.groups.contains(row.nodes * row.gpus_per_node);
    }
  }
  return held;
}

/// The rows that the fit looks at: not held out, and at most kSizesPerDoubling between a size and its double.
std::vector<std::size_t> seen_rows(const CollectiveMeasurements& measurements,
                                   const std::vector<bool>& held) {
  std::vector<std::size_t> seen;
  for (const auto& [curve, rows] : curves_of(measurements)) {
    double last = -1;
    for (const std::size_t i : rows) {
      const double place = std::floor(kSizesPerDoubling * std::log2(measurements.rows[i].size / 1_B));
      if (!held[i] && place != last) {
        seen.push_back(i);
        last = place;
      }
    }
  }
  return seen;
}

/// @pre the fit sees no row
std::string why_nothing_is_seen(const CollectiveMeasurements& measurements, const HeldOut& wanted) {
  if (measurements.rows.empty()) {
    return "there is no measurement to fit to";
  }
  std::set<int> groups;
  for (const CollectiveMeasurement& row : measurements.rows) {
    groups.insert(row.nodes * row.gpus_per_node);
  }
  std::string held;
  if (std::ranges::includes(wanted.groups, groups)) {
    held = fmt::format("those of groups of {} GPUs are, and there are no others", fmt::join(groups, ", "));
  } else if (wanted.every == 1) {
    held = "each size is";
  } else {
    held = fmt::format("so is one of {} sizes, and those of groups of {} GPUs", wanted.every,
                       fmt::join(wanted.groups, ", "));
  }
  return fmt::format("all {} measurements are held out, none is left to fit to: {}", measurements.rows.size(),
                     held);
}

std::vector<Seconds> floors_of(const CollectiveMeasurements& measurements) {
  std::vector<Seconds> floors(measurements.runs.size(), Seconds{0});
  for (const CollectiveMeasurement& row : measurements.rows) {
    Seconds& floor = floors[row.run];
    if (row.size <= kSmall && (floor == Seconds{0} || row.time < floor)) {
      floor = row.time;
    }
  }
  return floors;
}

/// Measurements between nodes make the network's costs the machine's own.
CollectiveProfile with_network(CollectiveProfile start, const CollectiveMeasurements& measurements,
                               const Fabric& fabric) {
  const bool is_measured =
      std::ranges::any_of(measurements.rows, [](const auto& row) { return row.nodes > 1; });
  if (is_measured && !start.between_nodes) {
    start.between_nodes = fabric.network() != nullptr ? *fabric.network() : NetworkFabric{};
  }
  return start;
}

/// The unknowns are ln(value / start) of the profile's numbers, then of what each run adds.
class Fit {
 public:
  Fit(const CollectiveMeasurements& measurements, const Fabric& fabric, const CollectiveProfile& start,
      const HeldOut& held_out)
      : measurements_{measurements},
        start_{with_network(start, measurements, fabric)},
        machine_{fabric, CollectiveOptions{start_, {}, {}}},
        numbers_{numbers_of(start_)},
        held_{held_out_rows(measurements, held_out)},
        seen_{seen_rows(measurements, held_)},
        floors_{floors_of(measurements)} {
    if (seen_.empty()) {
      throw std::invalid_argument{why_nothing_is_seen(measurements, held_out)};
    }
  }

  CollectiveFit solve() {
    const std::vector<double> found =
        least_squares([this](std::span<const double> at) { return residuals(at); },
                      std::vector<double>(numbers_.size() + measurements_.runs.size(), 0.0));
    CollectiveFit fit;
    fit.profile = profile_at(found);
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      fit.numbers.push_back({numbers_[i].key,
                             numbers_[i].text(numbers_[i].start),
                             numbers_[i].text(value_at(i, found)),
                             std::abs(found[i]) > kMoved,
                             matters(i, found),
                             {},
                             value_at(i, found) / numbers_[i].start,
                             std::exp(kPlausibleSpreads * numbers_[i].spread)});
    }
    for (std::size_t run = 0; run < measurements_.runs.size(); ++run) {
      fit.runs.push_back({added_at(run, found), floors_[run]});
    }
    machine_.set_profile(fit.profile);
    for (std::size_t i = 0; i < measurements_.rows.size(); ++i) {
      fit.rows.push_back({i, predicted(measurements_.rows[i], found), held_[i]});
    }
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (fit.numbers[i].moved) {
        fit.numbers[i].rows = rows_predicted_with(i, found, fit.rows);
      }
    }
    return fit;
  }

 private:
  static constexpr double kStep = 0.01, kNoticed = 1e-4;  // of a number, of a time

  /// True where a hundredth more or less of the number is noticed in a row that the fit looked at.
  bool matters(std::size_t number, std::vector<double> at) {
    machine_.set_profile(profile_at(at));
    std::vector<Seconds> before;
    for (const std::size_t i : seen_) {
      before.push_back(predicted(measurements_.rows[i], at));
    }
    const double middle = at[number];
    for (const double step : {-kStep, kStep}) {
      at[number] = middle + step;
      machine_.set_profile(profile_at(at));
      for (std::size_t i = 0; i < seen_.size(); ++i) {
        if (std::abs(predicted(measurements_.rows[seen_[i]], at) / before[i] - 1) > kNoticed) {
          return true;
        }
      }
    }
    return false;
  }

  /// A hundredth more or less of the number changes the time by a ten-thousandth or more.
  std::vector<std::size_t> rows_predicted_with(std::size_t number, std::vector<double> at,
                                               const std::vector<FittedRow>& rows) {
    std::set<std::size_t> found;
    const double middle = at[number];
    for (const double step : {-kStep, kStep}) {
      at[number] = middle + step;
      machine_.set_profile(profile_at(at));
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const Seconds changed = predicted(measurements_.rows[rows[row].measurement], at);
        if (std::abs(changed / rows[row].predicted - 1) > kNoticed) {
          found.insert(row);
        }
      }
    }
    return {found.begin(), found.end()};
  }

  double value_at(std::size_t number, std::span<const double> at) const {
    return std::min(numbers_[number].start * std::exp(at[number]), numbers_[number].most);
  }
  Seconds added_at(std::size_t run, std::span<const double> at) const {
    return kAddedStart * std::exp(at[numbers_.size() + run]);
  }

  CollectiveProfile profile_at(std::span<const double> at) const {
    CollectiveProfile profile = start_;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      numbers_[i].set(profile, value_at(i, at));
    }
    return profile;
  }

  Seconds predicted(const CollectiveMeasurement& row, std::span<const double> at) {
    return std::max(floors_[row.run], added_at(row.run, at) + machine_.time(row));
  }

  std::vector<double> residuals(std::span<const double> at) {
    machine_.set_profile(profile_at(at));
    std::vector<double> result;
    for (const std::size_t i : seen_) {
      const CollectiveMeasurement& row = measurements_.rows[i];
      result.push_back(softened(std::log(predicted(row, at) / row.time) / kErrorSpread));
    }
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      result.push_back(at[i] / numbers_[i].spread);
    }
    for (std::size_t run = 0; run < measurements_.runs.size(); ++run) {
      result.push_back(at[numbers_.size() + run] / kAddedSpread);
    }
    return result;
  }

  const CollectiveMeasurements& measurements_;
  CollectiveProfile start_;
  MeasuredMachine machine_;
  std::vector<ProfileNumber> numbers_;
  std::vector<bool> held_;
  std::vector<std::size_t> seen_;
  std::vector<Seconds> floors_;
};

}  // namespace

CollectiveFit fit_collectives(const CollectiveMeasurements& measurements, const Fabric& fabric,
                              const CollectiveProfile& start, const HeldOut& held_out) {
  return Fit{measurements, fabric, start, held_out}.solve();
}

}  // namespace lockstep
