#pragma once

#include "base/units.hpp"

namespace lockstep {

/// Limits of the machine that the grids of points must know. The defaults are one H100 of 80 GB: `--list`
/// takes them where there is no GPU.
struct MachineLimits {
  int gpus = 1;                 ///< that this process sees
  int ranks = 1;                ///< GPUs of all processes together
  int compute_capability = 90;  ///< 10 x major + minor
  Bytes memory = Bytes{80e9};   ///< of the smallest GPU
  bool has_nccl = true;         ///< the program was built with it
};

/// How much is measured. A quick grid is a part of the full one, so that a full run goes on from a quick one.
enum class Extent { Quick, Full };

}  // namespace lockstep
