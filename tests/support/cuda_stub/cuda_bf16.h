#pragma once

#include "cuda_runtime.h"

struct __nv_bfloat16 {
  std::uint16_t bits = 0;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float /*unused*/) {}
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return x.bits;
}
inline __nv_bfloat16 __float2bfloat16(float x) {
  return __nv_bfloat16{x};
}
