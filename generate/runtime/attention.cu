#include <mma.h>

#include <algorithm>
#include <type_traits>

#include "calibration/measure/kernels/element_types.cuh"
#include "calibration/measure/kernels/launch_size.cuh"
#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kTile = 16;       // rows and columns of a product on tensor cores
constexpr int kRows = 64;       // of a block: queries forward, keys backward
constexpr int kWarps = 4;       // each of 16 rows
constexpr int kMostSize = 128;  // of a head

/// [batch x heads, rows, head_size] operands.
struct Attention {
  std::int64_t heads, queries, keys;
  int head_size;
  bool causal;
};

/// How tensor cores take operands of a type: so many columns at a time. FP32 is multiplied as TF32.
template <class T>
struct TensorCore {
  using Element = T;
  static constexpr int kDepth = kTile;
};
template <>
struct TensorCore<float> {
  using Element = wmma::precision::tf32;
  static constexpr int kDepth = kTile / 2;
};

template <class Use, class T, class Layout>
using Part =
    wmma::fragment<Use, kTile, kTile, TensorCore<T>::kDepth, typename TensorCore<T>::Element, Layout>;
template <class T>
using Sums = wmma::fragment<wmma::accumulator, kTile, kTile, TensorCore<T>::kDepth, float>;

template <class T, class Fragment>
__device__ void load(Fragment& part, const T* from, int columns) {
  wmma::load_matrix_sync(part, from, static_cast<unsigned>(columns));
  if constexpr (std::is_same_v<T, float>) {
    for (int i = 0; i < part.num_elements; ++i) {
      part.x[i] = wmma::__float_to_tf32(part.x[i]);
    }
  }
}

/// Scores of 16 rows of @p a with 16 rows of @p b: a product over the head.
template <class T>
__device__ void scores(const T* a, const T* b, int head_size, float* result) {
  Sums<T> sums;
  wmma::fill_fragment(sums, 0.0F);
  for (int k = 0; k < head_size; k += TensorCore<T>::kDepth) {
    Part<wmma::matrix_a, T, wmma::row_major> left;
    Part<wmma::matrix_b, T, wmma::col_major> right;
    load(left, a + k, head_size);
    load(right, b + k, head_size);
    wmma::mma_sync(sums, left, right, sums);
  }
  wmma::store_matrix_sync(result, sums, kTile, wmma::mem_row_major);
}

/// exp(x) of the 16 x 16 scores of a warp, in the type of the operands.
template <class T>
__device__ void weigh(const float* from, const float* factor, T* to) {
  const float scale = 0.125F;
  for (int i = static_cast<int>(threadIdx.x % 32); i < kTile * kTile; i += 32) {
    const float weight = __expf(fminf(from[i] * scale, 10.0F) - 10.0F);
    to[i] = lockstep::from_float<T>(factor == nullptr ? weight : weight * (factor[i] - 1.0F));
  }
  __syncwarp();
}

/// Adds weights [16, 16] x rows [16, head_size] to the sums of a warp.
template <class T, int Tiles>
__device__ void add_product(const T* weights, const T* rows, int head_size, Sums<T> (&sums)[Tiles]) {
  for (int k = 0; k < kTile; k += TensorCore<T>::kDepth) {
    Part<wmma::matrix_a, T, wmma::row_major> left;
    load(left, weights + k, kTile);
    for (int tile = 0; tile < Tiles; ++tile) {
      if (tile * kTile < head_size) {
        Part<wmma::matrix_b, T, wmma::row_major> right;
        load(right, rows + static_cast<std::int64_t>(k) * head_size + tile * kTile, head_size);
        wmma::mma_sync(sums[tile], left, right, sums[tile]);
      }
    }
  }
}

template <class T, int Tiles>
__device__ void store(const Sums<T> (&sums)[Tiles], float* space, int head_size, T* to) {
  for (int tile = 0; tile < Tiles; ++tile) {
    if (tile * kTile < head_size) {
      wmma::store_matrix_sync(space, sums[tile], kTile, wmma::mem_row_major);
      __syncwarp();
      for (int i = static_cast<int>(threadIdx.x % 32); i < kTile * kTile; i += 32) {
        to[static_cast<std::int64_t>(i / kTile) * head_size + tile * kTile + i % kTile] =
            lockstep::from_float<T>(space[i]);
      }
      __syncwarp();
    }
  }
}

/// Space of each warp: scores, their gradients, weights.
template <class T>
struct WarpSpace {
  float scores[kTile * kTile], gradients[kTile * kTile];
  T weights[kTile * kTile];
};

/// A warp 16 queries: scores with 16 keys at a time, their weights times the values.
template <class T, int Tiles>
__global__ void attention_forward(const T* q, const T* k, const T* v, T* out, Attention a) {
  __shared__ WarpSpace<T> spaces[kWarps];
  WarpSpace<T>& space = spaces[threadIdx.x / 32];
  const std::int64_t head = blockIdx.y;
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(kRows) + threadIdx.x / 32 * kTile;
  if (first + kTile > a.queries) {
    return;
  }
  Sums<T> sums[Tiles];
  for (Sums<T>& sum : sums) {
    wmma::fill_fragment(sum, 0.0F);
  }
  const std::int64_t end = a.causal ? min(a.keys, first + kTile + a.keys - a.queries) : a.keys;
  const T* const queries = q + (head * a.queries + first) * a.head_size;
  for (std::int64_t key = 0; key + kTile <= end; key += kTile) {
    const std::int64_t at = (head * a.keys + key) * a.head_size;
    scores(queries, k + at, a.head_size, space.scores);
    __syncwarp();
    weigh<T>(space.scores, nullptr, space.weights);
    add_product(space.weights, v + at, a.head_size, sums);
  }
  store(sums, space.scores, a.head_size, out + (head * a.queries + first) * a.head_size);
}

/// A warp 16 keys, or queries: scores and their gradients with 16 rows of the other side at a time. Of keys
/// the sums are the gradients of keys and values, of queries those of queries: five products and two for
/// scores that are computed twice.
template <class T, int Tiles, bool OfKeys>
__global__ void attention_backward(const T* mine, const T* my_values, const T* other, const T* other_values,
                                   T* first_sum, T* second_sum, std::int64_t my_rows, std::int64_t other_rows,
                                   int head_size, bool causal) {
  __shared__ WarpSpace<T> spaces[kWarps];
  WarpSpace<T>& space = spaces[threadIdx.x / 32];
  const std::int64_t head = blockIdx.y;
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(kRows) + threadIdx.x / 32 * kTile;
  if (first + kTile > my_rows) {
    return;
  }
  Sums<T> gradients[Tiles], values[OfKeys ? Tiles : 1];
  for (Sums<T>& sum : gradients) {
    wmma::fill_fragment(sum, 0.0F);
  }
  for (Sums<T>& sum : values) {
    wmma::fill_fragment(sum, 0.0F);
  }
  const std::int64_t shift = OfKeys ? my_rows - other_rows : other_rows - my_rows;
  const std::int64_t begin = causal && OfKeys && first > shift ? (first - shift) / kTile * kTile : 0;
  const std::int64_t end = causal && !OfKeys ? min(other_rows, first + kTile + shift) : other_rows;
  const std::int64_t mine_at = (head * my_rows + first) * head_size;
  for (std::int64_t row = begin; row + kTile <= end; row += kTile) {
    const std::int64_t at = (head * other_rows + row) * head_size;
    scores(mine + mine_at, other + at, head_size, space.scores);
    scores(my_values + mine_at, other_values + at, head_size, space.gradients);
    __syncwarp();
    if constexpr (OfKeys) {
      weigh<T>(space.scores, nullptr, space.weights);
      add_product(space.weights, other_values + at, head_size, values);
      __syncwarp();
    }
    weigh(space.scores, space.gradients, space.weights);
    add_product(space.weights, other + at, head_size, gradients);
    __syncwarp();
  }
  store(gradients, space.scores, head_size, first_sum + mine_at);
  if constexpr (OfKeys) {
    store(values, space.scores, head_size, second_sum + mine_at);
  }
}

struct Places {
  Arena *input, *output;
  std::int64_t of_queries, of_keys;  // bytes
};

Grid grid_of(std::int64_t rows, std::int64_t heads) {
  return {dim3{lockstep::blocks_for(rows, kRows), static_cast<unsigned>(heads)}, kWarps * 32};
}

template <class T, int Tiles>
Launch forward(const Places& p, const Attention& a) {
  return [=](cudaStream_t stream) {
    const auto in = [&](std::int64_t bytes) { return reinterpret_cast<const T*>(p.input->take(bytes)); };
    launch(attention_forward<T, Tiles>, grid_of(a.queries, a.heads), stream, in(p.of_queries), in(p.of_keys),
           in(p.of_keys), reinterpret_cast<T*>(p.output->take(p.of_queries)), a);
  };
}

template <class T, int Tiles>
Launch backward(const Places& p, const Attention& a) {
  return [=](cudaStream_t stream) {
    const auto in = [&](std::int64_t bytes) { return reinterpret_cast<const T*>(p.input->take(bytes)); };
    const auto out = [&](std::int64_t bytes) { return reinterpret_cast<T*>(p.output->take(bytes)); };
    const T* const q = in(p.of_queries);
    const T* const k = in(p.of_keys);
    const T* const v = in(p.of_keys);
    const T* const dy = in(p.of_queries);
    launch(attention_backward<T, Tiles, true>, grid_of(a.keys, a.heads), stream, k, v, q, dy, out(p.of_keys),
           out(p.of_keys), a.keys, a.queries, a.head_size, a.causal);
    launch(attention_backward<T, Tiles, false>, grid_of(a.queries, a.heads), stream, q, dy, k, v,
           out(p.of_queries), nullptr, a.queries, a.keys, a.head_size, a.causal);
  };
}

template <class T>
Launch attention(Device& device, const Call& call) {
  // Rows that are no multiple of 16 become one: a part of a tile costs as much as a whole one.
  const auto whole = [](std::int64_t rows) {
    return std::max<std::int64_t>((rows + kTile - 1) / kTile * kTile, kTile);
  };
  const Attention a{call.integer("batch", 1) * call.integer("heads", 1), whole(call.integer("queries")),
                    whole(call.integer("keys")), static_cast<int>(call.integer("head_size")),
                    call.integer("causal", 1) == 1};
  if (a.head_size % kTile != 0 || a.head_size > kMostSize || a.head_size == 0) {
    fail("attention of heads of " + std::to_string(a.head_size), "operations.txt");
  }
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const Places p{&device.input(call.type), &device.output(), a.heads * a.queries * a.head_size * size,
                 a.heads * a.keys * a.head_size * size};
  for (const std::int64_t bytes : {p.of_queries, p.of_keys}) {
    p.input->need(bytes);
    p.output->need(bytes);
  }
  const bool is_backward = call.integer("direction") == 1;
  if (a.head_size <= kMostSize / 2) {
    constexpr int kTiles = kMostSize / 2 / kTile;
    return is_backward ? backward<T, kTiles>(p, a) : forward<T, kTiles>(p, a);
  }
  constexpr int kTiles = kMostSize / kTile;
  return is_backward ? backward<T, kTiles>(p, a) : forward<T, kTiles>(p, a);
}

}  // namespace

Launch make_attention(Device& device, const Call& call) {
  if (call.type == "fp32") {
    return attention<float>(device, call);
  }
  return call.type == "fp16" ? attention<__half>(device, call) : attention<__nv_bfloat16>(device, call);
}

}  // namespace benchmark
