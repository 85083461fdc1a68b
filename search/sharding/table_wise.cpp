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
  Filling(Judge& judge, double most_width)
      : judge_{judge},
        most_width_{most_width},
        loads_(judge.task().devices()),
        compute_(judge.task().devices()),
        widths_(judge.task().devices()),
        indices_(judge.task().devices()),
        used_(judge.task().devices()) {}

  /// @return false where no device has room
  bool place(Piece& piece) {
    const Bytes size = judge_.task().size_of(piece.table, piece.columns);
    const std::optional<std::uint32_t> device = cheapest(size, static_cast<double>(piece.columns));
    if (!device) {
      return false;
    }
    piece.device = *device;
    loads_[*device].add(judge_.load_of(piece));
    compute_[*device] = judge_.compute(loads_[*device]);
    widths_[*device] += static_cast<double>(piece.columns);
    indices_[*device] += judge_.task().indices_of(piece.table);
    used_[*device] += size;
    return true;
  }

  [[nodiscard]] Seconds cost() { return judge_.estimate(compute_, widths_, indices_).total; }
  /// The limit on the width kept a piece from a device.
  [[nodiscard]] bool was_limited() const { return limited_; }

 private:
  std::optional<std::uint32_t> cheapest(Bytes size, double columns) {
    std::optional<std::uint32_t> best;
    for (std::uint32_t device = 0; device < compute_.size(); ++device) {
      if (used_[device] + size > judge_.task().capacity[device]) {
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

  Judge& judge_;
  double most_width_;
  std::vector<Load> loads_;
  std::vector<Seconds> compute_;
  std::vector<double> widths_, indices_;
  std::vector<Bytes> used_;
  bool limited_ = false;
};

/// The most expensive first; of equals the later one.
std::vector<std::size_t> by_cost(Judge& judge, const std::vector<Piece>& pieces) {
  std::vector<Seconds> cost;
  for (const Piece& piece : pieces) {
    cost.push_back(judge.alone(piece.table, piece.columns));
  }
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair{cost[a], a} > std::pair{cost[b], b};
  });
  return order;
}

double mean_width(const Judge& judge, const std::vector<Piece>& pieces) {
  double width = 0;
  for (const Piece& piece : pieces) {
    width += static_cast<double>(piece.columns);
  }
  return width / static_cast<double>(judge.task().places().size());
}

}  // namespace

std::optional<JudgedPlan> place_pieces(Judge& judge, const std::vector<Piece>& pieces) {
  const std::vector<std::size_t> order = by_cost(judge, pieces);
  const double mean = mean_width(judge, pieces);
  std::optional<JudgedPlan> best;
  bool limited = true;
  for (int limit = 0; limit < kLimits && limited; ++limit) {
    Filling devices{judge, (1 + kLimitStep * limit) * mean};
    JudgedPlan judged{Plan{pieces}, {}};
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

bool only_width_is_in_the_way(Judge& judge) {
  std::vector<Piece> pieces = whole_tables(judge.task());
  if (place_pieces(judge, pieces)) {
    return false;
  }
  Filling devices{judge, std::numeric_limits<double>::infinity()};
  return std::ranges::all_of(by_cost(judge, pieces), [&](std::size_t i) { return devices.place(pieces[i]); });
}

std::optional<Plan> neuroshard_table_wise(Judge& judge, const SearchOptions& /*options*/) {
  const auto judged = place_pieces(judge, whole_tables(judge.task()));
  return judged ? std::optional{judged->plan} : std::nullopt;
}

}  // namespace lockstep::sharding
