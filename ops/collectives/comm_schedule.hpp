#pragma once

/// @file
/// A collective unrolled into messages: what is sent when, independent of any machine.

#include <vector>

#include "base/units.hpp"

namespace lockstep {

/// One point-to-point message of a collective.
struct Transfer {
  int src = 0;          ///< sending position in the group
  int dst = 0;          ///< receiving position, != src
  int chunk = 0;        ///< which piece of the buffer travels, from 0
  Bytes size;           ///< payload
  bool reduce = false;  ///< the receiver adds to its chunk (true) or overwrites it (false)
};

/// Transfers that may all be in flight together; the next step starts, on each member, once that member's own
/// transfers of this step have completed.
using CommStep = std::vector<Transfer>;

/// The steps, in order. Chunks are numbered as the algorithm's header says.
struct CommSchedule {
  int chunks = 0;  ///< how many pieces the buffer is cut into
  std::vector<CommStep> steps;
};

}  // namespace lockstep
