#pragma once

#include <algorithm>

namespace lockstep {

/// How much longer compute kernels run while communication kernels live on the same GPU.
///
/// A communication kernel holds its SMs from its arrival on, spinning while it waits; while it transfers it
/// also takes its part of the memory bandwidth, each SM an equal one. A kernel that needs all of what is
/// taken runs 1 / (1 - share) times as long; we charge the larger of the two shares.
///   Source  NCCL gives each channel one block, i.e. one SM (NCCL documentation, NCCL_MAX_NCHANNELS); shares
///   per GPU model in configs/gpus
struct Interference {
  int sms = 1;              ///< of the GPU; at least one is left to compute kernels
  int collective_sms = 0;   ///< what a communication kernel holds that nothing limits; 0: no interference
  double memory_share = 0;  ///< 0 <= share < 1: what so many SMs take of the memory bandwidth, and all may

  bool operator==(const Interference&) const = default;

  /// SMs of one communication kernel. @param limits most of them, each for a reason of its own
  template <class... Limits>
  [[nodiscard]] int held(Limits... limits) const {
    return std::min({collective_sms, limits...});
  }

  /// @param held SMs of all communication kernels that live
  /// @param transferring SMs of those that transfer
  [[nodiscard]] double slowdown(int held, int transferring) const {
    const double of_sms = static_cast<double>(std::min(held, sms - 1)) / sms;
    const double of_memory =
        transferring == 0 ? 0.0
                          : memory_share * std::min(1.0, static_cast<double>(transferring) / collective_sms);
    return 1 / (1 - std::max(of_sms, of_memory));
  }
};

}  // namespace lockstep
