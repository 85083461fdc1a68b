#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

constexpr const char* kOperations[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                       "broadcast",  "reduce",     "send_recv"};

bool can_be_in_place(const std::string& operation) {
  return operation != "all_to_all" && operation != "send_recv";
}

/// All GPUs, and the first 2, 4, ... of one process: groups across processes would need a communicator each.
std::vector<std::int64_t> group_sizes(const MachineLimits& limits) {
  std::vector<std::int64_t> sizes;
  if (limits.ranks == limits.gpus) {
    sizes = geometric(2, limits.ranks - 1, 2);
  }
  if (limits.ranks > 1) {
    sizes.push_back(limits.ranks);
  }
  return sizes;
}

std::vector<GridPoint> collective_grid(const MachineLimits& limits, Extent extent) {
  constexpr std::int64_t kLargest = std::int64_t{4} << 30;
  PointSet points;
  if (!limits.has_nccl) {
    return {};
  }
  for (const char* operation : kOperations) {
    for (const std::int64_t ranks : group_sizes(limits)) {
      for (const std::int64_t bytes : geometric(1024, kLargest, extent == Extent::Quick ? 8 : 2)) {
        for (const std::int64_t in_place : {0, 1}) {
          const bool fits = static_cast<double>(2 * bytes) <= limits.memory / Bytes{2};
          if (fits && (in_place == 0 || can_be_in_place(operation))) {
            points.add(GridPoint{}
                           .set("operation", operation)
                           .set("ranks", ranks)
                           .set("in_place", in_place)
                           .set("bytes", bytes));
          }
        }
      }
    }
  }
  return std::move(points).points();
}

/// Bus bandwidth over algorithm bandwidth.
/// Source: nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
double bus_factor(const std::string& operation, double ranks) {
  if (operation == "all_reduce") {
    return 2 * (ranks - 1) / ranks;
  }
  if (operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all") {
    return (ranks - 1) / ranks;
  }
  return 1;
}

}  // namespace

Family collective_family() {
  return {.name = "collective",
          .what = "NCCL collectives as nccl-tests measures them: fp32, sum; every group size of this process",
          .parameters = {"operation", "ranks", "in_place", "bytes"},
          .facts = {},
          .rates = {"algbw_gb_per_s", "busbw_gb_per_s"},
          .grid = collective_grid,
          .rates_of =
              [](const GridPoint& point, Seconds time) {
                const double algorithm =
                    Bytes{static_cast<double>(point.integer("bytes"))} / time / BytesPerSecond{1e9};
                const auto ranks = static_cast<double>(point.integer("ranks"));
                return std::vector<double>{algorithm, algorithm * bus_factor(point.text("operation"), ranks)};
              },
          .quick_point = Seconds{0.1},
          .full_point = Seconds{0.3}};
}

}  // namespace lockstep
