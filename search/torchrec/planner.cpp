#include "search/torchrec/planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lockstep::torchrec {
namespace {

using Choice = std::vector<std::size_t>;  // by table: an option of its space

constexpr std::size_t kMostCombinations = 10'000;
constexpr std::size_t kBins = 100;
constexpr std::size_t kMostProposals = 10'000;

/// The options of each table, the fastest first.
std::vector<Choice> by_perf(const SearchSpace& space) {
  std::vector<Choice> order;
  for (const auto& options : space) {
    Choice& of_table = order.emplace_back();
    for (std::size_t i = 0; i < options.size(); ++i) {
      of_table.push_back(i);
    }
    std::ranges::stable_sort(of_table, {}, [&](std::size_t i) { return options[i].perf(); });
  }
  return order;
}

std::vector<Choice> greedy(const SearchSpace& space) {
  const std::vector<Choice> order = by_perf(space);
  Choice depth(space.size(), 0);
  std::vector<Choice> proposals;
  while (proposals.size() < kMostProposals) {
    Choice& choice = proposals.emplace_back();
    std::optional<std::size_t> largest;
    for (std::size_t table = 0; table < space.size(); ++table) {
      choice.push_back(order[table][depth[table]]);
      const auto hbm = [&](std::size_t t) { return space[t][order[t][depth[t]]].hbm(); };
      const bool has_another = depth[table] + 1 < order[table].size();
      if (has_another && (!largest || hbm(table) > hbm(*largest))) {
        largest = table;
      }
    }
    if (!largest) {
      break;
    }
    ++depth[*largest];
  }
  return proposals;
}

std::vector<Choice> uniform(const SearchSpace& space) {
  std::vector<Choice> proposals;
  for (const ShardingOption& model : space.front()) {
    Choice choice;
    for (const auto& options : space) {
      const auto same = std::ranges::find_if(options, [&](const ShardingOption& option) {
        return option.sharding == model.sharding && option.kernel == model.kernel;
      });
      if (same != options.end()) {
        choice.push_back(static_cast<std::size_t>(same - options.begin()));
      }
    }
    if (choice.size() == space.size()) {
      proposals.push_back(std::move(choice));
    }
  }
  return proposals;
}

std::vector<Choice> grid_search(const SearchSpace& space) {
  std::size_t combinations = 1;
  for (const auto& options : space) {
    combinations *= options.size();
    if (combinations > kMostCombinations) {
      return {};
    }
  }
  std::vector<Choice> proposals;
  Choice choice(space.size(), 0);
  for (std::size_t i = 0; i < combinations; ++i) {
    proposals.push_back(choice);
    for (std::size_t table = 0; table < space.size() && ++choice[table] == space[table].size(); ++table) {
      choice[table] = 0;
    }
  }
  return proposals;
}

/// A table more for each row: the least sum of perfs for each limit on the HBM, and the option it takes.
class Knapsack {
 public:
  Knapsack(const SearchSpace& space, Bytes all) : space_{space}, bin_{all / static_cast<double>(kBins)} {
    std::array<double, kBins + 1> least{};
    for (const auto& options : space_) {
      least = with(options, least);
    }
    least_ = least;
  }

  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> choices;
    for (std::size_t bin = 0; bin <= kBins; ++bin) {
      if (std::isinf(least_[bin])) {
        continue;
      }
      Choice choice(space_.size());
      std::size_t left = bin;
      for (std::size_t table = space_.size(); table-- > 0;) {
        choice[table] = taken_[table][left];
        left -= bins_of(space_[table][choice[table]]);
      }
      if (std::ranges::find(choices, choice) == choices.end()) {
        choices.push_back(std::move(choice));
      }
    }
    return choices;
  }

 private:
  [[nodiscard]] std::size_t bins_of(const ShardingOption& option) const {
    return static_cast<std::size_t>(std::min(std::ceil(option.hbm() / bin_ - 1e-9), kBins + 1.0));
  }

  std::array<double, kBins + 1> with(const std::vector<ShardingOption>& options,
                                     const std::array<double, kBins + 1>& before) {
    std::array<double, kBins + 1> after{};
    after.fill(std::numeric_limits<double>::infinity());
    auto& taken = taken_.emplace_back();
    for (std::size_t option = 0; option < options.size(); ++option) {
      const std::size_t needs = bins_of(options[option]);
      const double perf = options[option].perf() / Seconds{1};
      for (std::size_t bin = needs; bin <= kBins; ++bin) {
        if (before[bin - needs] + perf < after[bin]) {
          after[bin] = before[bin - needs] + perf;
          taken[bin] = option;
        }
      }
    }
    return after;
  }

  const SearchSpace& space_;
  Bytes bin_;
  std::vector<std::array<std::size_t, kBins + 1>> taken_;
  std::array<double, kBins + 1> least_{};
};

}  // namespace

Storage Reservation::left(const std::vector<TableConfig>& tables, const Topology& topology) const {
  constexpr double kCopiesOfDense = 6;  // parameters, gradients, optimizer, buckets
  constexpr double kIndexBytes = 8;
  double lookups = 0;
  for (const TableConfig& table : tables) {
    lookups += static_cast<double>(topology.batch_per_rank) * table.pooling_factor;
  }
  const Bytes hbm = (1 - share) * topology.hbm_capacity - kCopiesOfDense * dense_parameters -
                    per_batch_inputs * lookups * Bytes{kIndexBytes};
  return {std::max(hbm, Bytes{0}), topology.ddr_capacity};
}

std::vector<Choice> proposals(Proposer proposer, const SearchSpace& space, const Storage& capacity,
                              const Topology& topology) {
  const bool has_options = std::ranges::none_of(space, [](const auto& options) { return options.empty(); });
  if (space.empty() || !has_options) {
    return {};
  }
  switch (proposer) {
    case Proposer::Greedy:
      return greedy(space);
    case Proposer::Uniform:
      return uniform(space);
    case Proposer::GridSearch:
      return grid_search(space);
    case Proposer::DynamicProgramming:
      return Knapsack{space, static_cast<double>(topology.ranks) * capacity.hbm}.choices();
  }
  return {};
}

std::optional<Partition> plan(const std::vector<TableConfig>& tables, const Constraints& constraints,
                              const Storage& capacity, const Topology& topology) {
  SearchSpace space;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    space.push_back(enumerate(table, tables[table], constraints, topology));
  }
  std::optional<Partition> best;
  for (const auto& [proposer, name] : names_of(Proposer{})) {
    for (const Choice& choice : proposals(proposer, space, capacity, topology)) {
      std::vector<ShardingOption> options;
      for (std::size_t table = 0; table < space.size(); ++table) {
        options.push_back(space[table][choice[table]]);
      }
      auto partition = partition_by_perf(std::move(options), capacity, topology);
      if (partition && (!best || partition->rating() < best->rating())) {
        best = std::move(partition);
      }
    }
  }
  return best;
}

}  // namespace lockstep::torchrec
