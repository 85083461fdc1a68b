#include "calibration/kernels/constant_split.hpp"

#include <cstddef>
#include <set>
#include <vector>

namespace lockstep {

SplitRows split_by_shape(const KernelMeasurements& rows, double held_out) {
  SplitRows parts;
  const auto places_of = [&](double (*place_of)(const KernelWork&)) {
    std::vector<double> places;
    for (const KernelMeasurement& row : rows) places.push_back(place_of(row.call.work));
    return places;
  };
  std::vector<double> places = places_of(place_of_shape);
  std::set<double> shapes(places.begin(), places.end());
  if (static_cast<double>(shapes.size()) * held_out < 1) {
    places = places_of(place_with_m);
    const std::set<double> with_m(places.begin(), places.end());
    parts.with_m = with_m.size() > shapes.size();
    shapes = with_m;
  }
  // The first place that is fitted: neither part is empty where there are two shapes.
  auto first = shapes.lower_bound(held_out);
  if (shapes.size() > 1 && held_out > 0) {
    if (first == shapes.begin()) ++first;
    if (first == shapes.end()) --first;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    (first == shapes.end() || places[i] < *first ? parts.held_out : parts.fitted).push_back(rows[i]);
  }
  return parts;
}

}  // namespace lockstep
