#pragma once

#include <string_view>

#include "ops/kernel.hpp"

namespace lockstep {

/// The type's name in tables and files: fp32, tf32, fp16, bf16, fp8, int32, int64, uint8, bool.
[[nodiscard]] std::string_view data_type_name(DataType type);

}  // namespace lockstep
