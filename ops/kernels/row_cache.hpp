#pragma once

/// @file
/// How many look-ups of embedding rows a cache does not answer.

#include "ops/kernels/index_model.hpp"

namespace lockstep {

/// Of @p lookups one after the other those that miss a cache with places for @p places rows, which is
/// empty at first and replaces the row that was used least recently.
///
///   stays    T: rows E[1 - exp(-T w / rows)] = places; so many draws later a row is gone (Che's
///            approximation)
///   hits     h = E[w (1 - exp(-T w / rows))] of the draws, once the cache is full
///   missed   of N = lookups / duplication draws: the different rows where N <= T,
///            else places + (N - T) (1 - h)
///
/// *Assumes* independent draws of a row, whose repeats (IndexModel::duplication) follow at once and hit; a
/// fully associative cache. *Source*: Che, Tung and Wang, "Hierarchical Web caching systems", IEEE JSAC
/// 20(7), 2002.
[[nodiscard]] double missed_lookups(const IndexModel& model, double places, double lookups);

}  // namespace lockstep
