#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synth/recording.hpp"

namespace lockstep::synth {

/// A launch or a collective of a rank.
struct RecordedNode {
  std::string name;          ///< class of kernel, or kind of collective
  double seconds = 0;        ///< of a kernel
  float lead = 0, cost = 0;  ///< host time before and in its call
  bool is_collective = false;
  CollectiveCall call;  ///< of a collective
};

/// Seconds of each kernel of one Program: as recorded, else as the kernel models time it.
[[nodiscard]] std::vector<double> kernel_seconds(const Recording& recording, std::uint32_t program);

/// Launches and collectives of rank 0, in the order of tokens_of().
[[nodiscard]] std::vector<RecordedNode> recorded_nodes(const Recording& recording);

}  // namespace lockstep::synth
