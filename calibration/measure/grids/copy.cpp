#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

GridPoint copy_point(const char* direction, const char* memory, std::int64_t to, std::int64_t bytes) {
  return GridPoint{}
      .set("direction", direction)
      .set("host_memory", memory)
      .set("from_gpu", 0)
      .set("to_gpu", to)
      .set("bytes", bytes);
}

std::vector<GridPoint> copy_grid(const MachineLimits& limits, Extent extent) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  PointSet points;
  for (const std::int64_t bytes : geometric(64, kLargest, extent == Extent::Quick ? 16 : 4)) {
    for (const char* memory : {"pinned", "pageable"}) {
      points.add(copy_point("h2d", memory, 0, bytes));
      points.add(copy_point("d2h", memory, 0, bytes));
    }
    points.add(copy_point("d2d", "none", 0, bytes));
    for (int to = 1; to < limits.gpus; ++to) {
      points.add(copy_point("p2p", "none", to, bytes));
    }
  }
  return std::move(points).points();
}

}  // namespace

Family copy_family() {
  return {.name = "copy",
          .what = "copies by direction and size: host to GPU, back, within a GPU, from GPU 0 to each other",
          .parameters = {"direction", "host_memory", "from_gpu", "to_gpu", "bytes"},
          .facts = {"clock"},
          .rates = {"gb_per_s"},
          .grid = copy_grid,
          .rates_of =
              [](const GridPoint& point, Seconds time) {
                return std::vector<double>{Bytes{static_cast<double>(point.integer("bytes"))} / time /
                                           BytesPerSecond{1e9}};
              },
          .quick_point = Seconds{0.05},
          .full_point = Seconds{0.1}};
}

}  // namespace lockstep
