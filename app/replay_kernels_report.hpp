#pragma once

#include <string>

#include "ops/gpu/gpu_spec.hpp"
#include "traces/replay/predicted_kernels.hpp"

namespace lockstep {

/// A table of kernels by kind, recorded against predicted on @p gpu, and what no model answers for.
/// @param in_full all of that, else the longest
[[nodiscard]] std::string kernels_table(const replay::KernelComparison& kernels, const std::string& gpu,
                                        bool in_full);

/// The same as a JSON object; times in seconds.
[[nodiscard]] std::string kernels_json(const replay::KernelComparison& kernels, const std::string& gpu);

}  // namespace lockstep
