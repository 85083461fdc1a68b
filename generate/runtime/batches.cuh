#pragma once

#include <vector>

#include "generate/runtime/table.hpp"

namespace benchmark {

inline constexpr char kBatchBegins = 1, kBatchEnds = 2;

/// Sends and receives of one batch follow each other on a stream: where batches begin and end, by thread and
/// instruction.
[[nodiscard]] std::vector<std::vector<char>> batch_marks(const Table& table, const Rank& rank);

}  // namespace benchmark
