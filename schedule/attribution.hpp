#pragma once

/// @file
/// Which part of a step takes what, and why a step of a smaller model takes longer than its FLOPs promise.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// The parts that a step's time is spent on, along its critical path.
enum class StepPart : std::uint8_t {
  Products,      ///< matrix products, convolutions, fused attention: what FLOPs are counted of
  Embedding,     ///< lookups of embedding tables and their updates
  OtherKernels,  ///< passes over memory
  Copies,        ///< between host and GPU
  AllReduce,     ///< also reduce-scatter and all-gather: of gradients, parameters and activations
  AllToAll,      ///< of looked-up rows, and of tokens for experts
  Messages,      ///< between pipeline stages, and all other communication
  Launches,      ///< launch latency and gaps between kernels
  Host,          ///< the CPU
};
constexpr auto names_of(StepPart /*unused*/) {
  return std::to_array<EnumName<StepPart>>({{StepPart::Products, "matrix products"},
                                            {StepPart::Embedding, "embedding"},
                                            {StepPart::OtherKernels, "other kernels"},
                                            {StepPart::Copies, "copies"},
                                            {StepPart::AllReduce, "all-reduce and shards"},
                                            {StepPart::AllToAll, "all-to-all"},
                                            {StepPart::Messages, "other communication"},
                                            {StepPart::Launches, "launches and gaps"},
                                            {StepPart::Host, "host"}});
}
inline constexpr std::size_t kStepParts = 9;

/// Seconds of a step by part; they add up to it.
using StepParts = std::array<double, kStepParts>;

/// The parts in the proportions of @p raw, adding up to @p step; products alone where @p raw is nothing.
[[nodiscard]] StepParts scaled_to(const StepParts& raw, double step);

/// Time of a part of a phase's step beyond what FLOPs promise.
struct Loss {
  StepPart part = StepPart::Products;
  double seconds = 0;  ///< t_p,k - r t_full,k, of one step; negative: less than promised
};

/// The losses of all parts, in the order of StepPart: loss_k = t_p,k - r t_full,k with r = F_p / F_full. They
/// add up to t_p - r t_full: what the phase's step takes beyond the full model's, scaled by FLOPs.
[[nodiscard]] std::vector<Loss> losses(const StepParts& phase, const StepParts& full, double flops_ratio);

}  // namespace lockstep
