#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// Ranks as a user writes them: `all`, or numbers and ranges with commas between, e.g. `0,8-15`.
/// @param ranks of the job
/// @return ascending, each once
/// @throws std::invalid_argument naming the part that is none, or the rank that the job does not have
[[nodiscard]] std::vector<std::uint32_t> parse_ranks(const std::string& text, std::size_t ranks);

}  // namespace lockstep
