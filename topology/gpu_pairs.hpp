#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// GPU pairs whose routes look alike.
struct PairClass {
  std::string kinds;         ///< of the vertices on the way: `gpu nvswitch gpu`
  BytesPerSecond bandwidth;  ///< bottleneck
  Seconds latency;
  std::int64_t pairs = 0;  ///< ordered pairs (from, to)
  VertexId from = 0;       ///< an example
  VertexId to = 0;
};

struct PairSummary {
  std::vector<PairClass> classes;  ///< fastest first
  std::size_t sources = 0;         ///< from how many GPUs (to all others) routes were looked at
};

/// Classes of the routes (flow 0) from at most @p most_sources GPUs - the first eight and others evenly
/// spread - to all.
[[nodiscard]] PairSummary gpu_pair_classes(const Fabric& fabric, std::size_t most_sources = 16);

}  // namespace lockstep
