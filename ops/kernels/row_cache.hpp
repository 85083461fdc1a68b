#pragma once

/// @file
/// How many lookups of embedding rows a cache does not answer.

#include "ops/kernels/index_model.hpp"

namespace lockstep {

/// Misses among @p lookups, one after the other, in a cache with places for @p places rows. The cache is
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

/// Reads of a table's pooled rows, or their gradients, for its lookups in the order of rows.
struct PooledReads {
  double bags = 0;    ///< of the table: each has a pooled row
  double draws = 0;   ///< lookups, those counted once that repeat within a bag
  double places = 0;  ///< pooled rows that the cache has places for
  double others = 0;  ///< what else passes through it meanwhile and does not come again, in pooled rows
};

/// Reads that miss the cache: each of d = min(bags, draws) rows is read N / d = p times, anywhere among N
/// draws.
///
///   stays   t of all draws, until so much has passed that a row is gone:
///           d (1 - (1 - t)^p) + others t = places; 1 where d + others <= places
///   missed  d + (N - d) (1 - t)^p: first reads, and of the others
///           those p - 1 gaps between two reads of a row
///           that are longer than t
///
/// *Assumes* bags equally long, so that p is alike for all; the order of samples independent from lookup to
/// lookup; a fully associative cache that replaces what was used least recently.
/// *Source*: Che's approximation as above, for rows that are drawn without replacement: p points on a line of
/// length 1 leave each gap longer than t with probability (1 - t)^p.
[[nodiscard]] double missed_pooled_rows(const PooledReads& reads);

}  // namespace lockstep
