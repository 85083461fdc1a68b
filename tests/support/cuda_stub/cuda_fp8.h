#pragma once

#include "cuda_runtime.h"

struct __nv_fp8_e4m3 {
  std::uint8_t bits = 0;
  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float /*unused*/) {}
};
