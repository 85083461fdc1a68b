#pragma once

/// @file
/// Products on tensor cores without any: they compile.

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major };

namespace precision {
struct tf32;
}

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr int num_elements = 1;
  float x[num_elements];
};
inline float __float_to_tf32(float x) {
  return x;
}

template <class Fragment>
void fill_fragment(Fragment&, float) {}
template <class Fragment, class T>
void load_matrix_sync(Fragment&, const T*, unsigned) {}
template <class D, class A, class B, class C>
void mma_sync(D&, const A&, const B&, const C&) {}
template <class T, class Fragment>
void store_matrix_sync(T*, const Fragment&, unsigned, layout_t) {}

}  // namespace nvcuda::wmma
