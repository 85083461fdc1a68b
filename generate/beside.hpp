#pragma once

#include "generate/runtime/table.hpp"

namespace lockstep::generate {

/// Two jobs on the same GPUs: rank r does what rank r of both does, each on streams, threads and
/// communicators of its own. The number of steps, the seed and the host's mode are those of @p table.
/// @throws std::invalid_argument where @p other has more ranks, or a rank would have too many streams
[[nodiscard]] benchmark::Table beside(const benchmark::Table& table, const benchmark::Table& other);

}  // namespace lockstep::generate
