#pragma once

/// @file
/// Caches of tables in host memory that take what memory GPUs have left.

#include <optional>
#include <string>
#include <vector>

#include "search/embedding/candidates.hpp"
#include "search/embedding/device_loads.hpp"
#include "search/embedding/sharding_problem.hpp"

namespace lockstep {

/// The least share of a table's rows that a cache of the search has.
inline constexpr double kLeastCache = 0.001;

/// A table of the entry is in host memory and has a cache on GPUs.
[[nodiscard]] bool has_cache(const TableShardingSpec& entry);

/// Whether a table of @p plan is cached.
[[nodiscard]] bool has_cache(const EmbeddingPlan& plan);

/// in_host_memory() of @p plan's cached tables; without their share where it differs.
/// @pre a table is cached
[[nodiscard]] std::string cached_in_host_memory(const EmbeddingPlan& plan);

/// @p plan with caches so large that the memory for tables of a GPU is full, or all rows are in them: first
/// those of all its tables larger or smaller by one factor, the same for all; then, of tables that are on the
/// same GPUs, those that have room left there. Load factors are whole thousandths; tables that would have all
/// rows in their cache are on GPUs instead. Where the step has less memory than that leaves it, with a tenth
/// to six tenths of the room kept free.
/// @return nothing where no table is cached, or there is no room for a thousandth of their rows
[[nodiscard]] std::optional<EmbeddingPlan> with_full_caches(const ShardingProblem& problem,
                                                            const EmbeddingPlan& plan);

/// device_loads() of @p plan; memory is what it takes at least, with as good as no cache: caches give way to
/// what is placed beside them.
[[nodiscard]] std::vector<DeviceLoad> loads_without_caches(const ShardingProblem& problem,
                                                           EmbeddingPlan plan);

/// @p candidate with_full_caches(), where these are others.
[[nodiscard]] std::optional<Candidate> with_full_caches(const ShardingProblem& problem,
                                                        const Candidate& candidate);

}  // namespace lockstep
