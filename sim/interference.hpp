#pragma once

namespace lockstep {

/// How much longer compute kernels run while a communication kernel lives on the same GPU.
///
/// A communication kernel holds `sm_share` of the SMs from its arrival on, spinning while it waits; while it
/// transfers it also takes `memory_share` of the memory bandwidth. A kernel that needs all of what is
/// taken runs 1 / (1 - share) times as long; we charge the larger of the two.
///   Source  NCCL gives each channel one block, i.e. one SM (NCCL documentation, NCCL_MAX_NCHANNELS); shares
///   per GPU model in configs/gpus
struct Interference {
  double sm_share = 0;      ///< 0 <= share < 1
  double memory_share = 0;  ///< 0 <= share < 1

  bool operator==(const Interference&) const = default;

  [[nodiscard]] double while_waiting() const { return 1 / (1 - sm_share); }
  [[nodiscard]] double while_transferring() const {
    return 1 / (1 - (memory_share > sm_share ? memory_share : sm_share));
  }
};

}  // namespace lockstep
