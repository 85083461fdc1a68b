#include "topology/gpu_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

std::set<std::size_t> chosen_sources(std::size_t gpus, std::size_t most) {
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < std::min({gpus, most, std::size_t{8}}); ++i) {
    chosen.insert(i);
  }
  const std::size_t rest = std::min(gpus, most);
  for (std::size_t i = 0; chosen.size() < rest; ++i) {
    chosen.insert(gpus <= most ? i : (i * gpus / most + i % 8) % gpus);
  }
  return chosen;
}

std::string kinds_along(const Fabric& fabric, VertexId from, const Route& route) {
  std::string kinds = to_string(fabric.vertices()[from].kind);
  for (const LinkId link : route.links) {
    kinds += " " + to_string(fabric.vertices()[fabric.links()[link].to].kind);
  }
  return kinds;
}

}  // namespace

PairSummary gpu_pair_classes(const Fabric& fabric, std::size_t most_sources) {
  const auto sources = chosen_sources(fabric.gpus().size(), most_sources);
  // Classes by what distinguishes them; latencies as rounded picoseconds, so that the order of a sum does not
  // matter.
  std::map<std::tuple<std::string, BytesPerSecond, std::int64_t>, PairClass> classes;
  for (const std::size_t source : sources) {
    const VertexId from = fabric.gpus()[source];
    for (const VertexId to : fabric.gpus()) {
      if (from == to) {
        continue;
      }
      const Route route = fabric.route(from, to);
      const BytesPerSecond bandwidth = bottleneck(fabric, route);
      const auto picoseconds = std::llround(route.latency.in_base_units() * 1e12);
      auto& found = classes[{kinds_along(fabric, from, route), bandwidth, picoseconds}];
      if (found.pairs++ == 0) {
        found = {kinds_along(fabric, from, route), bandwidth, route.latency, 1, from, to};
      }
    }
  }
  PairSummary summary{{}, sources.size()};
  for (const auto& [key, pair_class] : classes) {
    summary.classes.push_back(pair_class);
  }
  std::ranges::stable_sort(summary.classes, [](const PairClass& a, const PairClass& b) {
    return std::tuple{b.bandwidth, a.latency} < std::tuple{a.bandwidth, b.latency};
  });
  return summary;
}

}  // namespace lockstep
