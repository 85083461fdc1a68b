#include "search/sharding/table_wise.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lockstep::sharding {
namespace {

constexpr int kLimits = 11;
constexpr double kLimitStep = 0.05;

/// Devices that are filled one piece at a time.
class Filling {
 public:
  Filling(CachedCostModel& cost_model, double most_width)
      : cost_model_{cost_model},
        most_width_{most_width},
        loads_(cost_model.task().devices()),
        compute_(cost_model.task().devices()),
        widths_(cost_model.task().devices()),
        indices_(cost_model.task().devices()),
        used_(cost_model.task().devices()) {}

  /// @return false where no device has room
  bool place(Piece& piece) {
    const Bytes size = cost_model_.task().size_of(piece.table, piece.columns);
    const std::optional<std::uint32_t> device = cheapest(size, static_cast<double>(piece.columns));
    if (!device) {
      return false;
    }
    piece.device = *device;
    loads_[*device].add(cost_model_.load_of(piece));
    compute_[*device] = cost_model_.compute(loads_[*device]);
    widths_[*device] += static_cast<double>(piece.columns);
    indices_[*device] += cost_model_.task().indices_of(piece.table);
    used_[*device] += size;
    return true;
  }

  [[nodiscard]] Seconds cost() { return cost_model_.estimate(compute_, widths_, indices_).total; }
  /// The limit on the width kept a piece from a device.
  [[nodiscard]] bool was_limited() const { return limited_; }

 private:
  std::optional<std::uint32_t> cheapest(Bytes size, double columns) {
    std::optional<std::uint32_t> best;
    for (std::uint32_t device = 0; device < compute_.size(); ++device) {
      if (used_[device] + size > cost_model_.task().capacity[device]) {
        continue;
      }
      if (widths_[device] + columns > most_width_) {
        limited_ = true;
        continue;
      }
      const auto order = [&](std::uint32_t d) { return std::pair{compute_[d], used_[d]}; };
      if (!best || order(device) < order(*best)) {
        best = device;
      }
    }
    return best;
  }

  CachedCostModel& cost_model_;
  double most_width_;
  std::vector<Load> loads_;
  std::vector<Seconds> compute_;
  std::vector<double> widths_, indices_;
  std::vector<Bytes> used_;
  bool limited_ = false;
};

/// The most expensive first; of equals the later one.
std::vector<std::size_t> by_cost(CachedCostModel& cost_model, const std::vector<Piece>& pieces) {
  std::vector<Seconds> cost;
  for (const Piece& piece : pieces) {
    cost.push_back(cost_model.alone(piece.table, piece.columns));
  }
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair{cost[a], a} > std::pair{cost[b], b};
  });
  return order;
}

double mean_width(const CachedCostModel& cost_model, const std::vector<Piece>& pieces) {
  double width = 0;
  for (const Piece& piece : pieces) {
    width += static_cast<double>(piece.columns);
  }
  return width / static_cast<double>(cost_model.task().places().size());
}

}  // namespace

std::optional<CostedPlan> place_pieces(CachedCostModel& cost_model, const std::vector<Piece>& pieces) {
  const std::vector<std::size_t> order = by_cost(cost_model, pieces);
  const double mean = mean_width(cost_model, pieces);
  std::optional<CostedPlan> best;
  bool limited = true;
  for (int limit = 0; limit < kLimits && limited; ++limit) {
    Filling devices{cost_model, (1 + kLimitStep * limit) * mean};
    CostedPlan judged{Plan{pieces}, {}};
    const bool fits =
        std::ranges::all_of(order, [&](std::size_t i) { return devices.place(judged.plan.pieces[i]); });
    limited = devices.was_limited();
    if (!fits) {
      continue;
    }
    judged.cost = devices.cost();
    if (!best || judged.cost < best->cost) {
      best = std::move(judged);
    }
  }
  return best;
}

bool only_width_is_in_the_way(CachedCostModel& cost_model) {
  std::vector<Piece> pieces = whole_tables(cost_model.task());
  if (place_pieces(cost_model, pieces)) {
    return false;
  }
  Filling devices{cost_model, std::numeric_limits<double>::infinity()};
  return std::ranges::all_of(by_cost(cost_model, pieces),
                             [&](std::size_t i) { return devices.place(pieces[i]); });
}

std::optional<Plan> neuroshard_table_wise(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  const auto judged = place_pieces(cost_model, whole_tables(cost_model.task()));
  return judged ? std::optional{judged->plan} : std::nullopt;
}

}  // namespace lockstep::sharding
