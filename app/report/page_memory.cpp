#include "app/report/page_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

std::vector<MemoryLevel> highest_of(std::span<const MemoryLevel> levels, std::size_t most) {
  const std::size_t together = levels.size() <= most ? 1 : (2 * levels.size() + most - 1) / most;
  std::vector<MemoryLevel> kept;
  for (std::size_t first = 0; first < levels.size(); first += together) {
    const std::span<const MemoryLevel> part =
        levels.subspan(first, std::min(together, levels.size() - first));
    const auto highest = std::ranges::max_element(
        part, {}, [](const MemoryLevel& level) { return level.held.total().in_base_units(); });
    kept.push_back(*highest);
    if (&*highest != &part.back()) {
      kept.push_back(part.back());
    }
  }
  return kept;
}

std::string course_json(const MemoryCourse& course) {
  const std::vector<MemoryLevel> levels =
      highest_of(std::span{course.levels}.subspan(course.last_step), kMostPageLevels);
  std::vector<std::int64_t> dates;
  std::int64_t before = 0;
  for (const MemoryLevel& level : levels) {
    const std::int64_t date = std::llround(level.date * 1e9);
    dates.push_back(date - before);
    before = date;
  }
  std::string uses, held;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    std::vector<std::int64_t> bytes;
    for (const MemoryLevel& level : levels) {
      bytes.push_back(std::llround(level.held.bytes[use]));
    }
    if (std::ranges::any_of(bytes, [](std::int64_t size) { return size > 0; })) {
      uses += fmt::format("{}\"{}\"", uses.empty() ? "" : ",", name_of(static_cast<MemoryUse>(use)));
      held += fmt::format("{}[{}]", held.empty() ? "" : ",", fmt::join(bytes, ","));
    }
  }
  return fmt::format(R"({{"rank":{},"uses":[{}],"dates":[{}],"held":[{}]}})", course.rank, uses,
                     fmt::join(dates, ","), held);
}

}  // namespace

std::string page_memory_json(std::span<const MemoryCourse> courses, std::span<const std::int32_t> shown_as) {
  std::string all;
  for (const MemoryCourse& course : courses) {
    if (shown_as[course.rank] >= 0) {
      all += (all.empty() ? "" : ",") + course_json(course);
    }
  }
  return "[" + all + "]";
}

}  // namespace lockstep
