#pragma once

#include <string>

#include "generate/runtime/table.hpp"
#include "ops/kernel.hpp"

namespace lockstep::generate {

/// `gemm`, `batch_norm`, ...
[[nodiscard]] std::string work_name(const KernelWork& work);

/// The sizes that are not a new work's own, as the operation table has them. Names are left out.
[[nodiscard]] benchmark::Call call_of(const KernelCall& call);

/// The same backwards. @throws std::invalid_argument for a work, type or size that there is not
[[nodiscard]] KernelCall kernel_call(const benchmark::Call& call, const std::string& name);

}  // namespace lockstep::generate
