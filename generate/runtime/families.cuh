#pragma once

/// @file
/// Families of kernels: each makes what puts one call on a stream. A program has those that its table names
/// (families.inc).

#include "generate/runtime/device.cuh"
#include "generate/runtime/table.hpp"

namespace benchmark {

/// @throws Failure for sizes that the family cannot do
[[nodiscard]] Launch make_product(Device& device, const Call& call);
[[nodiscard]] Launch make_convolution(Device& device, const Call& call);
[[nodiscard]] Launch make_copy(Device& device, const Call& call);
[[nodiscard]] Launch make_elementwise(Device& device,
                                      const Call& call);           ///< also optimizers and concatenation
[[nodiscard]] Launch make_rows(Device& device, const Call& call);  ///< sums, softmax, layer and batch norm
[[nodiscard]] Launch make_movement(Device& device, const Call& call);   ///< transposes, gathers, scatters
[[nodiscard]] Launch make_attention(Device& device, const Call& call);  ///< on tensor cores, FP16 and BF16
[[nodiscard]] Launch make_look_up(Device& device, const Call& call);  ///< of embeddings, forward and backward

/// Holds the GPU for a time.
/// @param reads whether it reads memory as fast as it can all the while
[[nodiscard]] Launch make_busy(Device& device, double seconds, bool reads);

/// Lets a stream rest for a time: one block waits.
[[nodiscard]] Launch make_delay(double seconds);

/// Makes the launch of @p kernel: its calls one after the other; nothing for parts and skipped kernels.
[[nodiscard]] Launch make_kernel(Device& device, const Kernel& kernel);

/// Reads @p reads tensors of @p elements elements and writes @p writes: for shapes that no kernel of a family
/// takes.
[[nodiscard]] Launch make_streaming(Device& device, const std::string& type, std::int64_t elements,
                                    double reads, double writes, double flops);

}  // namespace benchmark
