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
  Tree(Judge& judge, const SearchOptions& options)
      : judge_{judge},
        options_{options},
        most_questions_{judge.questions() + kEffortFactor * options.effort},
        pieces_{whole_tables(judge.task())},
        loads_(judge.task().devices()),
        compute_(judge.task().devices()),
        widths_(judge.task().devices()),
        indices_(judge.task().devices()),
        used_(judge.task().devices()) {
    std::ranges::stable_sort(pieces_, [&](const Piece& a, const Piece& b) {
      return judge_.alone(a.table, a.columns) > judge_.alone(b.table, b.columns);
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
      const Seconds cost = judge_.estimate(compute_, widths_, indices_).total;
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
      if (loads_[other].pieces == 0 && judge_.kind_of(other) == judge_.kind_of(device) &&
          judge_.task().capacity[other] == judge_.task().capacity[device]) {
        return true;
      }
    }
    return false;
  }

  void attempt(std::size_t depth, std::uint32_t device) {
    Piece& piece = pieces_[depth];
    const Bytes size = judge_.task().size_of(piece.table, piece.columns);
    if (used_[device] + size > judge_.task().capacity[device]) {
      return;
    }
    const bool is_told = ++attempts_ % kAskEvery == 0 && options_.stopped();
    complete_ = complete_ && !is_told && judge_.questions() < most_questions_;
    const Load load = loads_[device];
    const Seconds compute = compute_[device];
    piece.device = device;
    loads_[device].add(judge_.load_of(piece));
    compute_[device] = judge_.compute(loads_[device]);
    if (compute_[device] < best_cost_) {
      widths_[device] += static_cast<double>(piece.columns);
      indices_[device] += judge_.task().indices_of(piece.table);
      used_[device] += size;
      descend(depth + 1);
      widths_[device] -= static_cast<double>(piece.columns);
      indices_[device] -= judge_.task().indices_of(piece.table);
      used_[device] -= size;
    }
    loads_[device] = load;
    compute_[device] = compute;
  }

  Judge& judge_;
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

ExactPlacement exact_placement(Judge& judge, const SearchOptions& options) {
  return Tree{judge, options}.best();
}

std::optional<Plan> exact_table_wise(Judge& judge, const SearchOptions& options) {
  return exact_placement(judge, options).plan;
}

}  // namespace lockstep::sharding
