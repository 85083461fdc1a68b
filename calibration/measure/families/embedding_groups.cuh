#pragma once

/// @file
/// How threads share the columns of embedding rows: a group of 1 to 32 threads a row, four columns a thread
/// at a time.

#include <cuda_fp16.h>

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "calibration/measure/families/embedding.cuh"
#include "calibration/measure/kernels/four_columns.cuh"
#include "calibration/measure/kernels/launch_size.cuh"

namespace lockstep {

/// What kernels must know of EmbeddingTables.
struct LookupShape {
  std::int64_t bags, batch, rows, dim, pooling;
};

inline LookupShape shape_of(const EmbeddingTables& t) {
  return {t.bags(), t.batch, t.rows, t.dim, t.pooling};
}

/// Calls @p use with an element of the weights' type and the size of a group as integral_constant.
/// @throws std::logic_error for another type or a dim that is no multiple of 4 or above 512
template <class Use>
void with_weights(const EmbeddingTables& tables, const Use& use) {
  if (tables.dim % 4 != 0 || tables.dim > 512) {
    throw std::logic_error{"embedding: a dim of 4 to 512, a multiple of 4"};
  }
  const auto with_group = [&]<class T>(T element) {
    if (tables.dim <= 4) {
      use(element, std::integral_constant<int, 1>{});
    } else if (tables.dim <= 16) {
      use(element, std::integral_constant<int, 4>{});
    } else if (tables.dim <= 32) {
      use(element, std::integral_constant<int, 8>{});
    } else if (tables.dim <= 64) {
      use(element, std::integral_constant<int, 16>{});
    } else {
      use(element, std::integral_constant<int, 32>{});
    }
  };
  if (tables.type == "fp32") {
    with_group(float{});
  } else if (tables.type == "fp16") {
    with_group(__half{});
  } else {
    throw std::logic_error{"embedding: no weights of " + tables.type};
  }
}

}  // namespace lockstep
