#include "search/plans/stage_balance.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/workload/parallel/parallel_plan.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kGivers = 3, kTakers = 4;  // chunks between which single layers move
constexpr int kMostMoves = 32;

/// Seconds that chunk @p part of @p parts works on a micro-batch besides its layers.
double work_of_ends(std::size_t part, std::size_t parts, const StageCosts& of) {
  const double pass = of.pass.in_base_units();
  return (part == 0 ? pass * of.embedding_shares.total() : 0) +
         (part + 1 == parts ? pass * of.head_shares.total() : 0);
}

/// Layers from chunk to chunk.
class Balancer {
 public:
  Balancer(const PlanCandidate& candidate, const CostsOfStages& costs, const EstimateInput& input,
           const Fullness& fullness)
      : candidate_{candidate}, costs_{costs}, input_{input}, fullness_{fullness} {}

  std::optional<PlanCandidate> balance() {
    const std::optional<double> even = step();
    deal();
    while (!is_fitting() && lighten()) {
    }
    std::optional<double> least = step();
    if (!least) {
      return std::nullopt;
    }
    for (int moves = 0; moves < kMostMoves && shorten(*least); ++moves) {
    }
    return even && *least > *even * (1 - kWorthCutting) ? std::nullopt : std::optional{candidate_};
  }

 private:
  [[nodiscard]] std::vector<std::int64_t>& layers() { return candidate_.plan.stage_layers; }
  [[nodiscard]] const StageCosts& costs_of(std::size_t part) const {
    return costs_[part % static_cast<std::size_t>(candidate_.plan.pipeline)];
  }

  /// Seconds that a chunk with so many layers works.
  [[nodiscard]] double work(std::size_t part, std::int64_t layers) const {
    const StageCosts& of = costs_of(part);
    return static_cast<double>(layers) * of.layer_pass.in_base_units() +
           work_of_ends(part, candidate_.plan.stage_layers.size(), of);
  }

  [[nodiscard]] double fullness() const { return fullness_(memory_of_stages(candidate_, costs_, input_)); }
  [[nodiscard]] bool is_fitting() const { return fullness() <= 1; }

  /// s; nothing where it does not fit
  [[nodiscard]] std::optional<double> step() const {
    return is_fitting() ? std::optional{estimate(candidate_, costs_, input_).step.in_base_units()}
                        : std::nullopt;
  }

  void deal() {
    const std::size_t parts =
        static_cast<std::size_t>(candidate_.plan.pipeline) * static_cast<std::size_t>(candidate_.plan.chunks);
    layers().assign(parts, 1);
    for (auto left = input_.layers - static_cast<std::int64_t>(parts); left > 0; --left) {
      const std::vector<std::size_t> order = by_work(1);
      ++layers()[order.front()];
    }
  }

  /// Chunks, the least work first, if each had so many layers more; of equals those in the middle.
  [[nodiscard]] std::vector<std::size_t> by_work(std::int64_t more) const {
    const std::vector<std::int64_t>& counts = candidate_.plan.stage_layers;
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t part) {
      const auto ends = static_cast<std::int64_t>(std::min(part, order.size() - 1 - part));
      return std::tuple{work(part, counts[part] + more), -ends, part};
    });
    return order;
  }

  /// Does it with a layer of @p from moved to @p to, which is undone unless it is kept.
  template <class Better>
  bool try_move(std::size_t from, std::size_t to, Better is_better) {
    if (from == to || layers()[from] == 1) {
      return false;
    }
    --layers()[from];
    ++layers()[to];
    const bool better = is_better();
    ++layers()[from];
    --layers()[to];
    return better;
  }

  bool move(const std::optional<std::pair<std::size_t, std::size_t>>& best) {
    if (best) {
      --layers()[best->first];
      ++layers()[best->second];
    }
    return best.has_value();
  }

  /// The move that leaves the fullest rank the most room. @return false: there is none
  bool lighten() {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    double least = fullness();
    for (std::size_t from = 0; from < layers().size(); ++from) {
      for (std::size_t to = 0; to < layers().size(); ++to) {
        if (try_move(from, to, [&] {
              const double now = fullness();
              return now < least && (least = now, true);
            })) {
          best = std::pair{from, to};
        }
      }
    }
    return move(best);
  }

  /// The move from a busy chunk to one that is not that shortens the step most. @return false: there is none
  bool shorten(double& least) {
    std::vector<std::size_t> givers = by_work(0), takers = by_work(1);
    std::ranges::reverse(givers);
    givers.resize(std::min(givers.size(), kGivers));
    takers.resize(std::min(takers.size(), kTakers));
    std::optional<std::pair<std::size_t, std::size_t>> best;
    for (const std::size_t from : givers) {
      for (const std::size_t to : takers) {
        const auto is_shorter = [&] {
          const std::optional<double> now = step();
          return now && *now < least && (least = *now, true);
        };
        if (try_move(from, to, is_shorter)) {
          best = std::pair{from, to};
        }
      }
    }
    return move(best);
  }

  PlanCandidate candidate_;
  const CostsOfStages& costs_;
  const EstimateInput& input_;
  const Fullness& fullness_;
};

}  // namespace

Seconds most_gained(const PlanCandidate& candidate, const CostsOfStages& costs, const EstimateInput& input) {
  const auto stages = static_cast<std::size_t>(candidate.plan.pipeline);
  const std::vector<LayerRange> parts = layers_of_chunks(candidate.plan, input.layers);
  std::vector<double> ends(stages), work(stages);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const StageCosts& of = costs[part % stages];
    ends[part % stages] += work_of_ends(part, parts.size(), of);
    work[part % stages] += static_cast<double>(parts[part].count) * of.layer_pass.in_base_units();
  }
  double busiest = 0;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    busiest = std::max(busiest, ends[stage] + work[stage]);
  }
  // Bisection: how many layers all stages together are done with in that time.
  const auto done_in = [&](double time) {
    double layers = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const double layer = costs[stage].layer_pass.in_base_units();
      layers += layer > 0 ? std::max(0.0, time - ends[stage]) / layer : static_cast<double>(input.layers);
    }
    return layers;
  };
  double least = 0, most = busiest;
  for (int halvings = 0; halvings < 40; ++halvings) {
    const double middle = (least + most) / 2;
    (done_in(middle) < static_cast<double>(input.layers) ? least : most) = middle;
  }
  const double balanced = std::max(most, *std::ranges::max_element(ends));
  return Seconds{(candidate.micro_batches + candidate.plan.pipeline - 1) * (busiest - balanced)};
}

std::optional<PlanCandidate> with_balanced_stages(const PlanCandidate& candidate, const CostsOfStages& costs,
                                                  const EstimateInput& input, const Fullness& fullness) {
  if (candidate.plan.pipeline == 1) {
    return std::nullopt;
  }
  return Balancer{candidate, costs, input, fullness}.balance();
}

}  // namespace lockstep
