#include "search/torchrec/partitioner.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::torchrec {
namespace {

bool is_uniform(const ShardingOption& option) {
  return option.sharding == Sharding::DataParallel || option.sharding == Sharding::RowWise;
}

bool goes_to_hosts(const ShardingOption& option) {
  return option.sharding == Sharding::TableRowWise || option.sharding == Sharding::Grid;
}

class Placing {
 public:
  Placing(std::vector<ShardingOption>& options, const Storage& capacity, const Topology& topology)
      : options_{options},
        capacity_{capacity},
        topology_{topology},
        ranks_(static_cast<std::size_t>(topology.ranks)) {}

  bool run() {
    std::vector<std::size_t> order(options_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const auto rank = [&](const ShardingOption& option) {
        return std::pair{is_uniform(option), option.hbm()};
      };
      return rank(options_[a]) > rank(options_[b]);
    });
    return std::ranges::all_of(order, [&](std::size_t option) { return place(options_[option]); });
  }

  [[nodiscard]] std::vector<RankLoad> ranks() && { return std::move(ranks_); }

 private:
  bool place(ShardingOption& option) {
    if (is_uniform(option)) {
      return place_from(option, 0, option.shards.size(), 0);
    }
    if (goes_to_hosts(option)) {
      return place_on_hosts(option);
    }
    return std::ranges::all_of(option.shards, [&](Shard& shard) { return place_on_a_rank(shard); });
  }

  [[nodiscard]] bool has_room(std::size_t rank, const Storage& storage) const {
    return ranks_[rank].hbm + storage.hbm <= capacity_.hbm && ranks_[rank].ddr + storage.ddr <= capacity_.ddr;
  }

  void put(Shard& shard, std::size_t rank) {
    shard.rank = static_cast<std::int64_t>(rank);
    ranks_[rank].perf += shard.perf.total();
    ranks_[rank].hbm += shard.storage.hbm;
    ranks_[rank].ddr += shard.storage.ddr;
  }

  /// @p count shards from the @p first on, to as many ranks from @p rank on.
  bool place_from(ShardingOption& option, std::size_t first, std::size_t count, std::size_t rank) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!has_room(rank + i, option.shards[first + i].storage)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      put(option.shards[first + i], rank + i);
    }
    return true;
  }

  bool place_on_a_rank(Shard& shard) {
    std::optional<std::size_t> best;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (has_room(rank, shard.storage) && (!best || ranks_[rank].perf < ranks_[*best].perf)) {
        best = rank;
      }
    }
    if (best) {
      put(shard, *best);
    }
    return best.has_value();
  }

  [[nodiscard]] Seconds perf_of_host(std::size_t host, std::size_t size) const {
    Seconds sum;
    for (std::size_t rank = host * size; rank < (host + 1) * size; ++rank) {
      sum += ranks_[rank].perf;
    }
    return sum;
  }

  /// Each block of columns to a host of its own choice.
  bool place_on_hosts(ShardingOption& option) {
    const auto size = static_cast<std::size_t>(topology_.local_ranks());
    for (std::size_t first = 0; first < option.shards.size(); first += size) {
      std::vector<std::size_t> hosts(ranks_.size() / size);
      std::iota(hosts.begin(), hosts.end(), std::size_t{0});
      std::ranges::stable_sort(hosts, {}, [&](std::size_t host) { return perf_of_host(host, size); });
      const bool placed = std::ranges::any_of(
          hosts, [&](std::size_t host) { return place_from(option, first, size, host * size); });
      if (!placed) {
        return false;
      }
    }
    return true;
  }

  std::vector<ShardingOption>& options_;
  const Storage& capacity_;
  const Topology& topology_;
  std::vector<RankLoad> ranks_;
};

Bytes most_hbm(const Partition& partition) {
  Bytes most;
  for (const RankLoad& rank : partition.ranks) {
    most = std::max(most, rank.hbm);
  }
  return most;
}

}  // namespace

Seconds Partition::rating() const {
  Seconds most;
  for (const RankLoad& rank : ranks) {
    most = std::max(most, rank.perf);
  }
  return most;
}

std::optional<Partition> partition_by_perf(std::vector<ShardingOption> options, const Storage& capacity,
                                           const Topology& topology) {
  Placing placing{options, capacity, topology};
  if (!placing.run()) {
    return std::nullopt;
  }
  return Partition{std::move(options), std::move(placing).ranks()};
}

std::optional<Partition> partition_by_memory(const std::vector<ShardingOption>& options,
                                             const Storage& capacity, const Topology& topology) {
  constexpr int kRounds = 10;
  constexpr double kTolerance = 0.02;
  std::optional<Partition> best = partition_by_perf(options, capacity, topology);
  if (!best) {
    return best;
  }
  Bytes needed;  // no tighter limit holds everything
  for (const ShardingOption& option : options) {
    needed += option.hbm();
  }
  Bytes low = needed / static_cast<double>(topology.ranks);
  Bytes high = most_hbm(*best);
  for (int round = 0; round < kRounds && high - low > kTolerance * capacity.hbm; ++round) {
    const Bytes middle = 0.5 * (low + high);
    auto tighter = partition_by_perf(options, {middle, capacity.ddr}, topology);
    if (tighter && tighter->rating() <= best->rating()) {
      high = middle;
      best = std::move(tighter);
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace lockstep::torchrec
