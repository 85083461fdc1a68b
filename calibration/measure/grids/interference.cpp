#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

std::vector<GridPoint> interference_grid(const MachineLimits& limits, Extent /*extent*/) {
  std::vector<std::string> activities{"gemm", "triad", "copy_h2d", "copy_d2h", "copy_d2d"};
  if (limits.gpus > 1) {
    activities.emplace_back("copy_p2p");
    if (limits.has_nccl) {
      activities.emplace_back("all_reduce");
    }
  }
  PointSet points;
  for (const std::string& work : activities) {
    points.add(GridPoint{}.set("work", work).set("beside", "nothing"));
    for (const std::string& beside : activities) {
      if (work != beside) {
        points.add(GridPoint{}.set("work", work).set("beside", beside));
      }
    }
  }
  return std::move(points).points();
}

}  // namespace

Family interference_family() {
  return {.name = "interference",
          .what = "the time of one activity while another one runs on the same GPU",
          .parameters = {"work", "beside"},
          .facts = {},
          .rates = {},
          .grid = interference_grid,
          .rates_of = [](const GridPoint&, Seconds) { return std::vector<double>{}; },
          .quick_point = Seconds{0.15},
          .full_point = Seconds{0.3}};
}

}  // namespace lockstep
