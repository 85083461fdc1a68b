#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostBytes = 12;  // of an element of three FP32 arrays
constexpr std::int64_t kColumns = 1024;  // of the row that bias_add adds to every row

std::vector<GridPoint> elementwise_grid(const MachineLimits& limits, Extent extent) {
  const bool quick = extent == Extent::Quick;
  PointSet points;
  for (const char* operation :
       {"relu", "gelu", "tanh", "dropout", "add", "bias_add", "gelu_backward", "to_fp32"}) {
    for (const char* type : {"fp32", "fp16", "bf16"}) {
      for (const std::int64_t elements : geometric(kColumns, std::int64_t{1} << 30, quick ? 16 : 4)) {
        const bool fits = static_cast<double>(kMostBytes * elements) <= limits.memory / Bytes{2};
        if (fits && has_type(limits, type)) {
          points.add(GridPoint{}.set("operation", operation).set("type", type).set("elements", elements));
        }
      }
    }
  }
  return std::move(points).points();
}

/// Bytes of an element of all arrays that are read and written.
std::int64_t bytes_an_element(const std::string& operation, std::int64_t type) {
  if (operation == "add" || operation == "gelu_backward") {
    return 3 * type;
  }
  if (operation == "dropout") {
    return 2 * type + 1;  // and the mask
  }
  return operation == "to_fp32" ? type + 4 : 2 * type;  // the row of bias_add stays in the cache
}

}  // namespace

Family elementwise_family() {
  return {
      .name = "elementwise",
      .what =
          "element-wise operations with one or two inputs, by number of elements (own kernels, L2 flushed)",
      .parameters = {"operation", "type", "elements"},
      .facts = {},
      .rates = {"gb_per_s"},
      .grid = elementwise_grid,
      .rates_of =
          [](const GridPoint& point, Seconds time) {
            const std::int64_t bytes =
                bytes_an_element(point.text("operation"), bytes_of_type(point.text("type")));
            return std::vector<double>{Bytes{static_cast<double>(bytes * point.integer("elements"))} / time /
                                       BytesPerSecond{1e9}};
          },
      .quick_point = Seconds{0.01},
      .full_point = Seconds{0.018}};
}

}  // namespace lockstep
