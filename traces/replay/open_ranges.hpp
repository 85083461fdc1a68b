#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::replay {

/// Tells by instruction of @p thread whether a range is open around it whose name @p is_meant. The time
/// before a range (the lead of its RangeBegin) is not within it, the time before its end is.
[[nodiscard]] std::vector<bool> within_ranges(const Program& program, const Program::Thread& thread,
                                              const std::function<bool(const std::string&)>& is_meant);

}  // namespace lockstep::replay
