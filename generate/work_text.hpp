#pragma once

#include <string>

#include "generate/runtime/table.hpp"
#include "ops/kernel.hpp"

namespace lockstep::generate {

/// `gemm`, `batch_norm`, ...
[[nodiscard]] std::string work_name(const KernelWork& work);

/// The sizes that are not a new work's own, as the operation table has them. Names are left out.
[[nodiscard]] benchmark::Call call_of(const KernelCall& call);

/// Inverse of call_of(). @throws std::invalid_argument for an unknown work, type or size
[[nodiscard]] KernelCall kernel_call(const benchmark::Call& call, const std::string& name);

}  // namespace lockstep::generate
