#pragma once

/// @file
/// Norms and softmax that other operators are fused into.

#include "generate/runtime/element.cuh"
#include "generate/runtime/families.cuh"

namespace benchmark {

/// Whether a call over rows says what is fused into it.
[[nodiscard]] inline bool is_fused(const Call& call) {
  return call.number("fused_reads") > 0;
}

/// Reads and writes as many matrices as the call says, sums each row, and reads again what it says.
[[nodiscard]] Launch make_fused_rows(Device& device, const Call& call);

}  // namespace benchmark
