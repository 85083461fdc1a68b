#include "search/sharding/local_search.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/random.hpp"
#include "search/sharding/device_state.hpp"
#include "search/sharding/greedy.hpp"
#include "search/sharding/neuroshard.hpp"
#include "search/sharding/torchrec_plan.hpp"

namespace lockstep::sharding {
namespace {

// Chosen on tasks of seeds that no table of docs/search.md uses.
constexpr double kFirstThreshold = 0.001;  // of the cost: how much worse a change may make it at first
constexpr double kFromSlowest = 0.45;      // share of the changes that concern the slowest device
constexpr std::int64_t kAskEvery = 256;    // changes between two questions whether to stop

/// Numbers one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_{seed, "local search"} {}

  double next() { return random_.uniform(index_++); }
  std::size_t below(std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(next() * static_cast<double>(count)));
  }

 private:
  Random random_;
  std::uint64_t index_ = 0;
};

class LocalSearch {
 public:
  LocalSearch(Judge& judge, const Plan& plan, const SearchOptions& options)
      : judge_{judge},
        options_{options},
        draws_{options.seed},
        state_{judge, plan},
        best_{plan},
        best_cost_{state_.cost()} {}

  Plan run() {
    const std::int64_t first = judge_.questions();
    const std::int64_t effort = options_.effort;
    for (std::int64_t tried = 0;; ++tried) {
      const std::int64_t asked = judge_.questions() - first;
      // Changes that cannot be made ask nothing: they are bounded, too.
      if (asked >= effort || tried >= effort || (tried % kAskEvery == 0 && options_.stopped())) {
        return best_;
      }
      const double left = 1 - static_cast<double>(std::max(asked, tried)) / static_cast<double>(effort);
      attempt(kFirstThreshold * left * left);
    }
  }

 private:
  std::uint32_t any_device() { return static_cast<std::uint32_t>(draws_.below(state_.devices())); }

  bool change(DeviceState& state) {
    const std::uint32_t from = draws_.next() < kFromSlowest ? state.slowest() : any_device();
    const std::uint32_t to = any_device();
    const double kind = draws_.next();
    if (state.pieces_on(from).empty()) {
      return false;
    }
    const std::size_t piece = draws_.below(state.pieces_on(from).size());
    if (kind < 0.35) {
      return state.move(from, piece, to);
    }
    if (kind < 0.85) {
      return from != to && !state.pieces_on(to).empty() &&
             state.swap(from, piece, to, draws_.below(state.pieces_on(to).size()));
    }
    if (!options_.may_cut) {
      return false;
    }
    return kind < 0.95 ? state.split(from, piece, to) : state.merge(from, piece);
  }

  void attempt(double threshold) {
    DeviceState changed = state_;
    if (!change(changed) || changed.judge_again() > (1 + threshold) * state_.cost()) {
      return;
    }
    state_ = std::move(changed);
    if (state_.cost() < best_cost_) {
      best_cost_ = state_.cost();
      best_ = state_.plan();
    }
  }

  Judge& judge_;
  const SearchOptions& options_;
  Draws draws_;
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
        std::ranges::find_if(pieces, [](const Piece& piece) { return can_halve(piece.columns); });
    if (next == pieces.end()) {
      return std::nullopt;
    }
    next->columns /= 2;
    pieces.push_back(*next);
  }
}

}  // namespace

Plan improved(Judge& judge, Plan plan, const SearchOptions& options) {
  if (plan.pieces.empty() || judge.task().devices() < 2) {
    return plan;
  }
  return LocalSearch{judge, plan, options}.run();
}

std::optional<Plan> lockstep_search(Judge& judge, const SearchOptions& options) {
  const Search beam = options.may_cut ? neuroshard : neuroshard_table_wise;
  const std::array<Search, 9> starts{beam,          torchrec_plan,      size_greedy,        dim_greedy,
                                     lookup_greedy, norm_lookup_greedy, size_lookup_greedy, torchrec_greedy,
                                     round_robin};
  std::optional<Plan> best;
  Seconds cost;
  for (const Search start : starts) {
    std::optional<Plan> plan = start(judge, options);
    if (!plan || (!options.may_cut && plan->pieces.size() > judge.task().tables.size())) {
      continue;
    }
    const Seconds plan_cost = judge.estimate(*plan).total;
    if (!best || plan_cost < cost) {
      best = std::move(plan);
      cost = plan_cost;
    }
  }
  if (!best && options.may_cut) {
    best = cut_until_it_fits(judge.task());
  }
  return best ? std::optional{improved(judge, *std::move(best), options)} : std::nullopt;
}

}  // namespace lockstep::sharding
