#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "traces/memory_recorder.hpp"

namespace lockstep {

inline constexpr std::size_t kMostPageLevels = 1'000;  ///< of a rank on the page

/// The last step of courses: [{rank, uses: [names], dates: [], held: [[]]}]. Dates are whole nanoseconds,
/// each from the one before, and `held` is bytes by use and date; uses that hold nothing are left out. Where
/// there are more than kMostPageLevels, the highest and the last of neighbours remain.
/// @param shown_as by rank: below 0 for those that the page does not show
[[nodiscard]] std::string page_memory_json(std::span<const MemoryCourse> courses,
                                           std::span<const std::int32_t> shown_as);

}  // namespace lockstep
