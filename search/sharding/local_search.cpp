#include "search/sharding/local_search.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "search/sharding/device_state.hpp"
#include "search/sharding/greedy.hpp"
#include "search/sharding/neuroshard.hpp"
#include "search/sharding/small_changes.hpp"
#include "search/sharding/torchrec_plan.hpp"

namespace lockstep::sharding {
namespace {

// Chosen on tasks of seeds that no table of docs/search.md uses.
constexpr double kFirstThreshold = 0.001;  // of the cost: how much worse a change may make it at first
constexpr std::int64_t kAskEvery = 256;    // changes between two questions whether to stop

class LocalSearch {
 public:
  LocalSearch(CachedCostModel& cost_model, const Plan& plan, const SearchOptions& options)
      : cost_model_{cost_model},
        options_{options},
        changes_{options.seed, "local search", options.may_cut},
        state_{cost_model, plan},
        best_{plan},
        best_cost_{state_.cost()} {}

  Plan run() {
    const std::int64_t first = cost_model_.questions();
    const std::int64_t effort = options_.effort;
    for (std::int64_t tried = 0;; ++tried) {
      const std::int64_t asked = cost_model_.questions() - first;
      // Changes that cannot be made ask nothing: they are bounded, too.
      if (asked >= effort || tried >= effort || (tried % kAskEvery == 0 && options_.stopped())) {
        return best_;
      }
      const double left = 1 - static_cast<double>(std::max(asked, tried)) / static_cast<double>(effort);
      attempt(kFirstThreshold * left * left);
    }
  }

 private:
  void attempt(double threshold) {
    DeviceState changed = state_;
    if (!changes_.make(changed, changed.slowest()) ||
        changed.judge_again() > (1 + threshold) * state_.cost()) {
      return;
    }
    state_ = std::move(changed);
    if (state_.cost() < best_cost_) {
      best_cost_ = state_.cost();
      best_ = state_.plan();
    }
  }

  CachedCostModel& cost_model_;
  const SearchOptions& options_;
  SmallChanges changes_;
  DeviceState state_;
  Plan best_;
  Seconds best_cost_;
};

std::optional<Plan> to_the_emptiest(const Task& task, std::vector<Piece> pieces) {
  std::vector<Bytes> left = task.capacity;
  for (Piece& piece : pieces) {
    const auto emptiest = std::ranges::max_element(left);
    *emptiest -= task.size_of(piece.table, piece.columns);
    if (*emptiest < Bytes{0}) {
      return std::nullopt;
    }
    piece.device = static_cast<std::uint32_t>(emptiest - left.begin());
  }
  return Plan{std::move(pieces)};
}

/// Halves the largest piece until whatever is cut that far fits, the largest first to the emptiest device.
std::optional<Plan> cut_until_it_fits(const Task& task) {
  std::vector<Piece> pieces = whole_tables(task);
  const auto size = [&](const Piece& piece) { return task.size_of(piece.table, piece.columns); };
  for (;;) {
    std::ranges::stable_sort(pieces, std::greater{}, size);
    if (std::optional<Plan> plan = to_the_emptiest(task, pieces)) {
      return plan;
    }
    const auto next =
        std::ranges::find_if(pieces, [&](const Piece& piece) { return task.can_halve(piece.columns); });
    if (next == pieces.end()) {
      return std::nullopt;
    }
    next->columns /= 2;
    pieces.push_back(*next);
  }
}

}  // namespace

Plan improved(CachedCostModel& cost_model, Plan plan, const SearchOptions& options) {
  if (plan.pieces.empty() || cost_model.task().devices() < 2) {
    return plan;
  }
  return LocalSearch{cost_model, plan, options}.run();
}

namespace {

/// The cheapest of what simple rules and NeuroShard's search find. @param whole without cut tables
std::optional<Plan> best_start(CachedCostModel& cost_model, const SearchOptions& options, bool whole) {
  const Search beam = whole ? neuroshard_table_wise : neuroshard;
  const std::array<Search, 9> starts{beam,          torchrec_plan,      size_greedy,        dim_greedy,
                                     lookup_greedy, norm_lookup_greedy, size_lookup_greedy, torchrec_greedy,
                                     round_robin};
  std::optional<Plan> best;
  Seconds cost;
  for (const Search start : starts) {
    std::optional<Plan> plan = start(cost_model, options);
    if (!plan || (whole && plan->pieces.size() > cost_model.task().tables.size())) {
      continue;
    }
    const Seconds plan_cost = cost_model.estimate(*plan).total;
    if (!best || plan_cost < cost) {
      best = std::move(plan);
      cost = plan_cost;
    }
  }
  return best;
}

std::optional<Plan> of_whole_tables(CachedCostModel& cost_model, SearchOptions options) {
  options.may_cut = false;
  auto start = best_start(cost_model, options, true);
  return start ? std::optional{improved(cost_model, *std::move(start), options)} : std::nullopt;
}

}  // namespace

std::optional<Plan> lockstep_search(CachedCostModel& cost_model, const SearchOptions& options) {
  if (!options.may_cut) {
    return of_whole_tables(cost_model, options);
  }
  SearchOptions half = options;
  half.effort = options.effort / 2;
  std::optional<Plan> best = best_start(cost_model, half, false);
  std::optional<Plan> whole = of_whole_tables(cost_model, half);
  if (whole && (!best || cost_model.estimate(*whole).total < cost_model.estimate(*best).total)) {
    best = std::move(whole);
  }
  if (!best) {
    best = cut_until_it_fits(cost_model.task());
  }
  return best ? std::optional{improved(cost_model, *std::move(best), half)} : std::nullopt;
}

}  // namespace lockstep::sharding
