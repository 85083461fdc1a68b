#include "search/sharding/exact.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace lockstep::sharding {
namespace {

constexpr std::int64_t kEffortFactor = 100;
constexpr std::int64_t kAskEvery = 256;  // placements of a table between two questions whether to stop

class Tree {
 public:
  Tree(CachedCostModel& cost_model, const SearchOptions& options)
      : cost_model_{cost_model},
        options_{options},
        most_questions_{cost_model.questions() + kEffortFactor * options.effort},
        pieces_{whole_tables(cost_model.task())},
        loads_(cost_model.task().devices()),
        compute_(cost_model.task().devices()),
        widths_(cost_model.task().devices()),
        indices_(cost_model.task().devices()),
        used_(cost_model.task().devices()) {
    std::ranges::stable_sort(pieces_, [&](const Piece& a, const Piece& b) {
      return cost_model_.alone(a.table, a.columns) > cost_model_.alone(b.table, b.columns);
    });
  }

  ExactPlacement best() {
    descend(0);
    std::ranges::sort(best_.pieces, {}, &Piece::table);
    return {best_cost_ < kInfinite ? std::optional{best_} : std::nullopt, best_cost_, complete_};
  }

 private:
  static constexpr Seconds kInfinite{std::numeric_limits<double>::infinity()};

  void descend(std::size_t depth) {
    if (depth == pieces_.size()) {
      const Seconds cost = cost_model_.estimate(compute_, widths_, indices_).total;
      if (cost < best_cost_) {
        best_cost_ = cost;
        best_ = Plan{pieces_};
      }
      return;
    }
    std::vector<std::uint32_t> order(loads_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t device) { return compute_[device]; });
    for (const std::uint32_t device : order) {
      if (complete_ && !repeats_an_empty_one(device)) {
        attempt(depth, device);
      }
    }
  }

  [[nodiscard]] bool repeats_an_empty_one(std::uint32_t device) const {
    for (std::uint32_t other = 0; other < device && loads_[device].pieces == 0; ++other) {
      if (loads_[other].pieces == 0 && cost_model_.kind_of(other) == cost_model_.kind_of(device) &&
          cost_model_.task().capacity[other] == cost_model_.task().capacity[device]) {
        return true;
      }
    }
    return false;
  }

  void attempt(std::size_t depth, std::uint32_t device) {
    Piece& piece = pieces_[depth];
    const Bytes size = cost_model_.task().size_of(piece.table, piece.columns);
    if (used_[device] + size > cost_model_.task().capacity[device]) {
      return;
    }
    const bool is_told = ++attempts_ % kAskEvery == 0 && options_.stopped();
    complete_ = complete_ && !is_told && cost_model_.questions() < most_questions_;
    const Load load = loads_[device];
    const Seconds compute = compute_[device];
    piece.device = device;
    loads_[device].add(cost_model_.load_of(piece));
    compute_[device] = cost_model_.compute(loads_[device]);
    if (compute_[device] < best_cost_) {
      widths_[device] += static_cast<double>(piece.columns);
      indices_[device] += cost_model_.task().indices_of(piece.table);
      used_[device] += size;
      descend(depth + 1);
      widths_[device] -= static_cast<double>(piece.columns);
      indices_[device] -= cost_model_.task().indices_of(piece.table);
      used_[device] -= size;
    }
    loads_[device] = load;
    compute_[device] = compute;
  }

  CachedCostModel& cost_model_;
  const SearchOptions& options_;
  std::int64_t most_questions_, attempts_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Load> loads_;
  std::vector<Seconds> compute_;
  std::vector<double> widths_, indices_;
  std::vector<Bytes> used_;
  Plan best_;
  Seconds best_cost_ = kInfinite;
  bool complete_ = true;
};

}  // namespace

ExactPlacement exact_placement(CachedCostModel& cost_model, const SearchOptions& options) {
  return Tree{cost_model, options}.best();
}

std::optional<Plan> exact_table_wise(CachedCostModel& cost_model, const SearchOptions& options) {
  return exact_placement(cost_model, options).plan;
}

}  // namespace lockstep::sharding
