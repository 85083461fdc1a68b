#include <map>

#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

/// Arrays that a pattern reads and writes: a = sum(b); a = 1; a = b; a = b + 3 c (McCalpin's STREAM names the
/// last two).
const std::map<std::string, int> kArrays{{"read", 1}, {"write", 1}, {"copy", 2}, {"triad", 3}};

std::vector<GridPoint> memory_grid(const MachineLimits& limits, Extent extent) {
  constexpr std::int64_t kSmallest = 4096;
  constexpr std::int64_t kLargest = std::int64_t{4} << 30;
  PointSet points;
  for (const auto& [pattern, arrays] : kArrays) {
    for (const char* cache : {"cold", "warm"}) {
      for (const std::int64_t bytes : geometric(kSmallest, kLargest, extent == Extent::Quick ? 8 : 2)) {
        if (static_cast<double>(bytes * arrays) <= limits.memory / Bytes{2}) {
          points.add(GridPoint{}.set("pattern", pattern).set("cache", cache).set("bytes", bytes));
        }
      }
    }
  }
  return std::move(points).points();
}

}  // namespace

Family memory_family() {
  return {.name = "memory",
          .what = "reading, writing, copying, adding arrays in GPU memory, by size",
          .parameters = {"pattern", "cache", "bytes"},
          .facts = {},
          .rates = {"gb_per_s"},
          .grid = memory_grid,
          .rates_of =
              [](const GridPoint& point, Seconds time) {
                const Bytes moved{
                    static_cast<double>(point.integer("bytes") * kArrays.at(point.text("pattern")))};
                return std::vector<double>{moved / time / BytesPerSecond{1e9}};
              },
          .quick_point = Seconds{0.01},
          .full_point = Seconds{0.018}};
}

}  // namespace lockstep
