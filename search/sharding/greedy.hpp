#pragma once

/// @file
/// What others compare with: whole tables, given out by a rule.

#include <optional>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// Each table to a device of its own draw, whether it fits or not. *Source*: DreamShard, NeuroShard
/// (sharders.py). @return nothing where a device then holds too much
[[nodiscard]] std::optional<Plan> random_plan(CachedCostModel& cost_model, const SearchOptions& options);

/// Table i to device i modulo n (Lin et al., arXiv 2404.12674, "naive").
[[nodiscard]] std::optional<Plan> round_robin(CachedCostModel& cost_model, const SearchOptions& options);

/// Tables in order, cut into n runs of equally many (Lin et al., "naive_chunk").
[[nodiscard]] std::optional<Plan> chunks(CachedCostModel& cost_model, const SearchOptions& options);

/// Greedy rules sort tables by a key, the largest first. Each table goes to the device with the least sum so
/// far among those with memory for it (ties: least memory used, then lowest number). Equal keys: the larger
/// table first, then the later one. *Source*: NeuroShard, sharders.py.
///
///   size          rows x dimension
///   dim           dimension
///   lookup        dimension x pooling factor
///   norm_lookup   dimension x pooling factor / rows (named by Lin et al., whose formula is not public: ours)
///   size_lookup   dimension x pooling factor x log10(rows)
[[nodiscard]] std::optional<Plan> size_greedy(CachedCostModel& cost_model, const SearchOptions& options);
[[nodiscard]] std::optional<Plan> dim_greedy(CachedCostModel& cost_model, const SearchOptions& options);
[[nodiscard]] std::optional<Plan> lookup_greedy(CachedCostModel& cost_model, const SearchOptions& options);
[[nodiscard]] std::optional<Plan> norm_lookup_greedy(CachedCostModel& cost_model,
                                                     const SearchOptions& options);
[[nodiscard]] std::optional<Plan> size_lookup_greedy(CachedCostModel& cost_model,
                                                     const SearchOptions& options);

/// Whole tables as TorchRec's greedy-perf partitioner gives them out: the largest in memory first, to the
/// device with the least time so far, as its estimator has it on its default hardware (search/torchrec).
[[nodiscard]] std::optional<Plan> torchrec_greedy(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding
