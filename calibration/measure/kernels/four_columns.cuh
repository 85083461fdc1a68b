#pragma once

/// @file
/// Four columns of a row at a time, in float.

#include <cuda_fp16.h>

namespace lockstep {

__device__ inline float4 four_of(const float* x) {
  return *reinterpret_cast<const float4*>(x);
}
__device__ inline float4 four_of(const __half* x) {
  const float2 low = __half22float2(*reinterpret_cast<const __half2*>(x));
  const float2 high = __half22float2(*reinterpret_cast<const __half2*>(x + 2));
  return {low.x, low.y, high.x, high.y};
}

__device__ inline void store_four(float* to, float4 x) {
  *reinterpret_cast<float4*>(to) = x;
}
__device__ inline void store_four(__half* to, float4 x) {
  *reinterpret_cast<__half2*>(to) = __floats2half2_rn(x.x, x.y);
  *reinterpret_cast<__half2*>(to + 2) = __floats2half2_rn(x.z, x.w);
}

__device__ inline void add_to(float4& sum, float4 x) {
  sum.x += x.x;
  sum.y += x.y;
  sum.z += x.z;
  sum.w += x.w;
}

}  // namespace lockstep
