#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

std::vector<GridPoint> reduction_grid(const MachineLimits& limits, Extent extent) {
  const bool quick = extent == Extent::Quick;
  return matrix_points({.operations = {"sum_of_row", "sum_of_column", "sum_of_all"},
                        .rows = quick ? geometric(64, 4096, 64) : geometric(1, 32768, 8),
                        .columns = quick ? geometric(1024, 8192, 8) : geometric(128, 65536, 8),
                        .element_bytes = 4},
                       limits);
}

}  // namespace

Family reduction_family() {
  return {
      .name = "reduction",
      .what = "sums along rows, along columns (the gradient of a bias) and of all (own kernels, L2 flushed)",
      .parameters = {"operation", "type", "rows", "columns"},
      .facts = {},
      .rates = {"gb_per_s"},
      .grid = reduction_grid,
      .rates_of =
          [](const GridPoint& point, Seconds time) {
            const std::int64_t bytes =
                point.integer("rows") * point.integer("columns") * bytes_of_type(point.text("type"));
            return std::vector<double>{Bytes{static_cast<double>(bytes)} / time / BytesPerSecond{1e9}};
          },
      .quick_point = Seconds{0.01},
      .full_point = Seconds{0.018}};
}

}  // namespace lockstep
