#pragma once

/// @file
/// Embedding tables that somebody names for a trace: which of them a recorded lookup is over.

#include <cstdint>
#include <span>
#include <vector>

#include "traces/replay/embedding_work.hpp"

namespace lockstep::replay {

/// Tables of @p lookup among @p named, in their order: as many as it has, whose elements add up to its
/// weights. Of several such choices, the one whose pooling factors come nearest to the recorded lookups.
/// Columns are the named ones where these add up, else all tables are as wide as recorded. Pooling factors
/// are scaled by the recorded lookups.
/// @param width columns of all tables together; 0: not known
/// @throws std::invalid_argument where no choice fits, or there are too many to try
[[nodiscard]] std::vector<EmbeddingTable> tables_of(const RecordedLookup& lookup, std::int64_t width,
                                                    std::span<const EmbeddingTable> named);

}  // namespace lockstep::replay
