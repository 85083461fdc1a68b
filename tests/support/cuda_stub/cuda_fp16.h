#pragma once

#include "cuda_runtime.h"

struct __half {
  std::uint16_t bits = 0;
  __half() = default;
  explicit __half(float /*unused*/) {}
};
struct __half2 {
  __half x, y;
};
inline float __half2float(__half x) {
  return x.bits;
}
inline __half __float2half(float x) {
  return __half{x};
}
inline float2 __half22float2(__half2 x) {
  return {__half2float(x.x), __half2float(x.y)};
}
inline __half2 __floats2half2_rn(float x, float y) {
  return {__half{x}, __half{y}};
}
