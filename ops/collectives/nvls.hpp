#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// All-reduce inside the NVSwitches of one node (NVLink SHARP, from Hopper on): each member asks the switch
/// for the sum of its 1/n of the buffer, which the switch reads from all members and adds, and has the switch
/// write the result to all.
///
///   out of a member   size (read by the switch) + size/n (its result)
///   into a member     size/n (its sum) + size (everybody's results)
///
/// against 2 (n-1)/n * size each way for a ring. The traffic is given as edges from every member to every
/// other, (1 + 1/n) / (n-1) * size each: what enters and leaves each member's links is then exactly the
/// above, whichever pairs it is booked under. There is no schedule of messages between members.
///
/// Assumes: all members on NVSwitches that do not block; the switch adds at line rate.
/// Source: A. Ishii, R. Wells, "The NVLink-Network Switch", Hot Chips 34 (2022), SHARP; NCCL 2.20 nvls.cc.
/// Check: 8 and 4 H100 reach bus bandwidths of 481.5 and 366.5 GB/s (nccl_tests_up_to_32_gpus.csv,
/// nccl_N1_G8*.log, nccl_N1_G4*.log, 8 GiB): the same 309.5 and 305.4 GB/s on each member's links.
extern const CommAlgorithmRow kNvls;

}  // namespace lockstep
