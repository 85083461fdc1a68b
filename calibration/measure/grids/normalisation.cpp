#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostBytes = 12;  // of an element of three FP32 arrays

std::vector<GridPoint> normalisation_grid(const MachineLimits& limits, Extent extent) {
  const bool quick = extent == Extent::Quick;
  return matrix_points({.operations = {"layer_norm", "layer_norm_backward", "softmax", "softmax_backward"},
                        .rows = quick ? geometric(1024, 16384, 16) : geometric(64, 65536, 4),
                        .columns = quick ? geometric(256, 4096, 4) : geometric(64, 16384, 4),
                        .element_bytes = kMostBytes},
                       limits);
}

}  // namespace

Family normalisation_family() {
  return {.name = "normalisation",
          .what = "layer norm and softmax, forward and backward (own kernels, L2 flushed)",
          .parameters = {"operation", "type", "rows", "columns"},
          .facts = {},
          .rates = {"gb_per_s"},
          .grid = normalisation_grid,
          .rates_of =
              [](const GridPoint& point, Seconds time) {
                // Forward reads x and writes y; backward reads both (or x and dy) and writes dx. Rows of
                // statistics and weights are left out.
                const std::int64_t arrays = point.text("operation").ends_with("backward") ? 3 : 2;
                const std::int64_t bytes = arrays * point.integer("rows") * point.integer("columns") *
                                           bytes_of_type(point.text("type"));
                return std::vector<double>{Bytes{static_cast<double>(bytes)} / time / BytesPerSecond{1e9}};
              },
          .quick_point = Seconds{0.01},
          .full_point = Seconds{0.018}};
}

}  // namespace lockstep
