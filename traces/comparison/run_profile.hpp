#pragma once

#include <map>
#include <string>

#include "traces/comparison/recorded_run.hpp"

namespace lockstep::comparison {

/// Time and number of pieces of work in a step, in the mean.
struct Amount {
  double seconds = 0;
  double count = 0;
};
using Amounts = std::map<std::string, Amount>;

/// Time of a step by kind of work. The four parts of the GPU's time add up to the step: work beside compute
/// kernels is hidden behind them, communication beside copies behind these.
struct RunProfile {
  double step = 0;                                              ///< s
  double compute = 0, copies = 0, communication = 0, idle = 0;  ///< s; exposed ones
  Amounts operators;                                            ///< work by the operator that launched it
  Amounts kernels;                                              ///< work by its own name
  Amounts families;                                             ///< work by KernelFamilies
};

[[nodiscard]] RunProfile profile_of(const RecordedRun& run);

}  // namespace lockstep::comparison
