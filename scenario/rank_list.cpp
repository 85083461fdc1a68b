#include "scenario/rank_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace lockstep {
namespace {

std::uint32_t parse_rank(std::string_view text, const std::string& part, std::size_t ranks) {
  std::uint32_t rank = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (failure != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{
        fmt::format("'{}' is neither a rank nor a range of ranks; expected e.g. 0,8-15 or all", part)};
  }
  if (rank >= ranks) {
    throw std::invalid_argument{
        fmt::format("there is no rank {}: the job has ranks 0 to {}", rank, ranks - 1)};
  }
  return rank;
}

}  // namespace

std::vector<std::uint32_t> parse_ranks(const std::string& text, std::size_t ranks) {
  if (text == "all") {
    std::vector<std::uint32_t> all(ranks);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  std::set<std::uint32_t> chosen;
  std::stringstream parts{text};
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string_view whole = part;
    const auto dash = whole.find('-');
    const std::uint32_t first = parse_rank(whole.substr(0, dash), part, ranks);
    const std::uint32_t last =
        dash == std::string_view::npos ? first : parse_rank(whole.substr(dash + 1), part, ranks);
    if (last < first) {
      throw std::invalid_argument{fmt::format("'{}' ends before it begins", part)};
    }
    for (std::uint32_t rank = first; rank <= last; ++rank) {
      chosen.insert(rank);
    }
  }
  if (chosen.empty()) {
    throw std::invalid_argument{"no rank; expected e.g. 0,8-15 or all"};
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace lockstep
