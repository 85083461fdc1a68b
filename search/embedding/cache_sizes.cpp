#include "search/embedding/cache_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "search/embedding/movable_pieces.hpp"

namespace lockstep {
namespace {

constexpr double kStep = kLeastCache;  // of load factors

double factor_of(const TableShardingSpec& entry) {
  return entry.cache_load_factor.value_or(TableShardingSpec::kCacheLoadFactor);
}

/// @p factor as it is written: a whole number of steps, at least one.
double whole_steps(double factor) {
  constexpr double kRounding = 1e-9;
  return std::clamp(std::floor(factor / kStep + kRounding), 1.0, 1 / kStep) / std::round(1 / kStep);
}

/// Numbers of entries of a plan.
using Entries = std::vector<std::size_t>;

EmbeddingPlan scaled(EmbeddingPlan plan, const Entries& entries, double scale) {
  for (const std::size_t entry : entries) {
    plan.tables[entry].cache_load_factor = whole_steps(scale * factor_of(plan.tables[entry]));
  }
  return plan;
}

/// Caches of some entries, which grow until a GPU is full.
class Growing {
 public:
  Growing(const ShardingProblem& problem, double spare) : problem_{problem}, spare_{spare} {}

  /// @p plan with the caches of @p entries as large as fit, by one factor. @return nothing where none fits
  [[nodiscard]] std::optional<EmbeddingPlan> grown(const EmbeddingPlan& plan, const Entries& entries) const {
    double least = 1, most = 0;
    for (const std::size_t entry : entries) {
      least = std::min(least, factor_of(plan.tables[entry]));
      most = std::max(most, factor_of(plan.tables[entry]));
    }
    constexpr int kHalvings = 16;
    double fits_at = kStep / most, too_large = 1 / least;
    if (fits(scaled(plan, entries, too_large))) {
      return scaled(plan, entries, too_large);
    }
    if (!fits(scaled(plan, entries, fits_at))) {
      return std::nullopt;
    }
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (fits_at + too_large) / 2;
      (fits(scaled(plan, entries, middle)) ? fits_at : too_large) = middle;
    }
    return scaled(plan, entries, fits_at);
  }

 private:
  [[nodiscard]] bool fits(const EmbeddingPlan& plan) const {
    const std::vector<Bytes> memory = table_memory(problem_, plan);
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
      if (memory[rank] > (1 - spare_) * problem_.task().capacity[rank]) return false;
    }
    return true;
  }

  const ShardingProblem& problem_;
  double spare_;  ///< of the room for tables
};

/// Cached entries that are where @p first is.
Entries beside(const EmbeddingPlan& plan, std::size_t first) {
  const TableShardingSpec& of = plan.tables[first];
  Entries entries;
  for (std::size_t i = 0; i < plan.tables.size(); ++i) {
    const TableShardingSpec& entry = plan.tables[i];
    if (has_cache(entry) && entry.ranks == of.ranks && entry.node == of.node && entry.nodes == of.nodes) {
      entries.push_back(i);
    }
  }
  return entries;
}

std::optional<EmbeddingPlan> with_full_caches(const ShardingProblem& problem, const EmbeddingPlan& plan,
                                              double spare) {
  const Growing growing{problem, spare};
  Entries cached;
  for (std::size_t i = 0; i < plan.tables.size(); ++i) {
    if (has_cache(plan.tables[i])) cached.push_back(i);
  }
  std::optional<EmbeddingPlan> full = growing.grown(plan, cached);
  for (const std::size_t entry : cached) {
    const Entries there = full ? beside(*full, entry) : Entries{};
    if (!there.empty() && there.front() == entry && there.size() < cached.size()) {
      full = growing.grown(*full, there);
    }
  }
  for (const std::size_t entry : cached) {
    if (full && factor_of(full->tables[entry]) == 1) {
      full->tables[entry].kernel = TableKernel::Fused;
      full->tables[entry].cache_load_factor.reset();
    }
  }
  return full;
}

}  // namespace

bool has_cache(const TableShardingSpec& entry) {
  return entry.kernel == TableKernel::UvmCaching;
}

bool has_cache(const EmbeddingPlan& plan) {
  return std::ranges::any_of(plan.tables, [](const TableShardingSpec& entry) { return has_cache(entry); });
}

std::string cached_in_host_memory(const EmbeddingPlan& plan) {
  const auto first =
      std::ranges::find_if(plan.tables, [](const TableShardingSpec& entry) { return has_cache(entry); });
  const bool is_alike = std::ranges::all_of(plan.tables, [&](const TableShardingSpec& entry) {
    return !has_cache(entry) || in_host_memory(entry) == in_host_memory(*first);
  });
  TableShardingSpec usual = *first;
  usual.cache_load_factor.reset();
  return in_host_memory(is_alike ? *first : usual);
}

std::optional<EmbeddingPlan> with_full_caches(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  if (!has_cache(plan)) return std::nullopt;
  for (const double spare : kSpares) {
    std::optional<EmbeddingPlan> full = with_full_caches(problem, plan, spare);
    if (!full || problem.has_memory_for(*full)) return full;
  }
  return std::nullopt;
}

std::vector<DeviceLoad> loads_without_caches(const ShardingProblem& problem, EmbeddingPlan plan) {
  std::vector<DeviceLoad> loads = device_loads(problem, plan);
  if (!has_cache(plan)) return loads;
  for (TableShardingSpec& entry : plan.tables) {
    if (has_cache(entry)) entry.cache_load_factor = kLeastCache;
  }
  const std::vector<Bytes> memory = table_memory(problem, plan);
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    loads[rank].memory = memory[rank];
  }
  return loads;
}

std::optional<Candidate> with_full_caches(const ShardingProblem& problem, const Candidate& candidate) {
  std::optional<EmbeddingPlan> plan = with_full_caches(problem, candidate.plan);
  if (!plan || sharding::in_one_line(*plan) == sharding::in_one_line(candidate.plan)) return std::nullopt;
  Candidate full = candidate;
  const std::string before = cached_in_host_memory(candidate.plan);
  if (const auto at = full.name.find(before); at != std::string::npos && has_cache(*plan)) {
    full.name.replace(at, before.size(), cached_in_host_memory(*plan));
  }
  full.plan = *std::move(plan);
  full.step = {};
  full.why_no_step.clear();
  full.questions = 0;
  full.search_seconds = 0;
  full.division = {};
  full.pieces = {};
  make_movable(problem, full);
  return full;
}

}  // namespace lockstep
