#pragma once

#include <string>

#include "base/units.hpp"

namespace lockstep {

/// What the simulator knows about one GPU model. Immutable once read; no behaviour.
struct GpuSpec {
  std::string name;
  std::string source;
  BytesPerSecond memory_bandwidth;  ///< data sheet
  Bytes memory;
  int sm_count = 0;
};

}  // namespace lockstep
