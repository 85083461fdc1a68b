#pragma once

/// @file
/// Types of elements by name, and arithmetic of their vectors in float.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace lockstep {

/// Calls @p use with an element of the named type (fp32, fp16, bf16). @throws std::logic_error for another
/// name
template <class Use>
void with_type(const std::string& type, const Use& use) {
  if (type == "fp32") {
    use(float{});
  } else if (type == "fp16") {
    use(__half{});
  } else if (type == "bf16") {
    use(__nv_bfloat16{});
  } else {
    throw std::logic_error{"no element type " + type};
  }
}

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

/// Elements that one thread loads at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

/// 32 random bits of a counter: the finaliser of MurmurHash3.
__host__ __device__ inline std::uint32_t random_bits(std::uint64_t counter, std::uint32_t seed) {
  auto h = static_cast<std::uint32_t>(counter ^ (counter >> 32U)) ^ (seed * 0x9e3779b9U);
  h = (h ^ (h >> 16U)) * 0x85ebca6bU;
  h = (h ^ (h >> 13U)) * 0xc2b2ae35U;
  return h ^ (h >> 16U);
}

/// In [-1, 1), a multiple of 2^-23: the numbers that random_numbers() holds, before they are rounded to a
/// type.
__host__ __device__ inline float random_number(std::uint64_t index, std::uint32_t seed) {
  return static_cast<float>(random_bits(index, seed) >> 8U) * 0x1p-23F - 1.0F;
}

}  // namespace lockstep
