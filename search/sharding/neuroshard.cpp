#include "search/sharding/neuroshard.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace lockstep::sharding {
namespace {

constexpr std::size_t kBeam = 3;
constexpr int kLevels = 10;
constexpr std::size_t kCandidates = 10;  // by size, and again by cost

/// A way to cut the tables, and what its best placement costs; infinite where none fits.
struct State {
  std::vector<Piece> pieces;
  Seconds cost{std::numeric_limits<double>::infinity()};
};

class Beam {
 public:
  explicit Beam(CachedCostModel& cost_model) : cost_model_{cost_model} {}

  [[nodiscard]] const std::optional<CostedPlan>& best() const { return best_; }

  [[nodiscard]] State state_of(std::vector<Piece> pieces) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> key;
    for (const Piece& piece : pieces) {
      key.emplace_back(piece.table, piece.columns);
    }
    std::ranges::sort(key);  // which cuts there are, not in which order they were made
    const auto [known, fresh] = costs_.try_emplace(std::move(key));
    if (fresh) {
      known->second = place(pieces);
    }
    return {std::move(pieces), known->second};
  }

  [[nodiscard]] std::vector<State> next(const std::vector<State>& states) {
    std::vector<State> level;
    for (const State& state : states) {
      for (const std::size_t piece : candidates(state.pieces)) {
        if (cost_model_.task().can_halve(state.pieces[piece].columns)) {
          level.push_back(state_of(halved(state.pieces, piece)));
        }
      }
    }
    std::ranges::stable_sort(level, {}, &State::cost);
    level.resize(std::min(level.size(), kBeam));
    return level;
  }

 private:
  static std::vector<Piece> halved(std::vector<Piece> pieces, std::size_t piece) {
    pieces[piece].columns /= 2;
    pieces.push_back(pieces[piece]);
    return pieces;
  }

  Seconds place(const std::vector<Piece>& pieces) {
    const auto judged = place_pieces(cost_model_, pieces);
    if (!judged) {
      return Seconds{std::numeric_limits<double>::infinity()};
    }
    if (!best_ || judged->cost < best_->cost) {
      best_ = judged;
    }
    return judged->cost;
  }

  template <class Key>
  static void add_largest(const std::vector<Piece>& pieces, Key key, std::set<std::size_t>& chosen) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return key(pieces[a]) > key(pieces[b]); });
    order.resize(std::min(order.size(), kCandidates));
    chosen.insert(order.begin(), order.end());
  }

  std::set<std::size_t> candidates(const std::vector<Piece>& pieces) {
    std::set<std::size_t> chosen;
    add_largest(
        pieces, [&](const Piece& piece) { return cost_model_.task().size_of(piece.table, piece.columns); },
        chosen);
    add_largest(
        pieces, [&](const Piece& piece) { return cost_model_.alone(piece.table, piece.columns); }, chosen);
    return chosen;
  }

  CachedCostModel& cost_model_;
  std::map<std::vector<std::pair<std::uint32_t, std::int64_t>>, Seconds> costs_;
  std::optional<CostedPlan> best_;
};

}  // namespace

std::optional<Plan> neuroshard(CachedCostModel& cost_model, const SearchOptions& options) {
  Beam beam{cost_model};
  std::vector<State> states{beam.state_of(whole_tables(cost_model.task()))};
  for (int level = 0; level < kLevels && !states.empty() && !options.stopped(); ++level) {
    states = beam.next(states);
  }
  return beam.best() ? std::optional{beam.best()->plan} : std::nullopt;
}

}  // namespace lockstep::sharding
