#pragma once

#include <string>

#include "generate/benchmark.hpp"

namespace lockstep::generate {

/// Does what is within ranges whose name has @p range several times in a row. Threads wait for each other as
/// often as before.
/// @param times 1: as it was
/// @throws std::invalid_argument where no range has this name, or members of a group would communicate
/// differently often
void repeat(Benchmark& benchmark, const std::string& range, int times);

}  // namespace lockstep::generate
