#include <algorithm>

#include "calibration/measure/families/embedding.cuh"
#include "calibration/measure/families/embedding_groups.cuh"
#include "calibration/measure/kernels/element_types.cuh"

namespace lockstep {
namespace {

constexpr int kMostParts = 4;  ///< of four columns that a thread of 32 holds: a dim of up to 512

struct Lookups {
  const std::int64_t* unique;
  const std::int32_t *first, *lengths, *count, *bags;
  std::int32_t *often, *often_count;
};

/// sum[part] += the gradients of the occurrences from @p begin in steps of @p step, in this thread's columns.
template <int Group>
__device__ void add_gradients(float4 (&sum)[kMostParts], const float* gradient, const std::int32_t* bags,
                              int begin, int end, int step, std::int64_t dim) {
  const std::int64_t lane = threadIdx.x % Group;
  for (int i = begin; i < end; i += step) {
    const float* of_bag = gradient + bags[i] * dim;
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      const std::int64_t column = (part * Group + lane) * 4;
      if (column < dim) {
        add_to(sum[part], four_of(of_bag + column));
      }
    }
  }
}

/// Row-wise Adagrad of one row by the group that holds its gradient. All threads of a warp call it.
template <class T, int Group>
__device__ void apply(const float4 (&sum)[kMostParts], T* row, float* state, std::int64_t dim, bool exists) {
  const float before = *state;
  float squares = 0;
  for (const float4& g : sum) {
    squares += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
  }
  squares = sum_over(squares, Group);
  __syncwarp();  // all have read the state before one writes it
  if (!exists) {
    return;
  }
  const std::int64_t lane = threadIdx.x % Group;
  const float after = before + squares / static_cast<float>(dim);
  const float rate = kLearningRate / (sqrtf(after) + kAdagradEpsilon);
  if (lane == 0) {
    *state = after;
  }
#pragma unroll
  for (int part = 0; part < kMostParts; ++part) {
    const std::int64_t column = (part * Group + lane) * 4;
    if (column < dim) {
      float4 w = four_of(row + column);
      add_to(w, {-rate * sum[part].x, -rate * sum[part].y, -rate * sum[part].z, -rate * sum[part].w});
      store_four(row + column, w);
    }
  }
}

/// A group for each row that occurs seldom; the others are listed for update_often_rows, as FBGEMM finds its
/// long segments.
template <class T, int Group>
__global__ void update_rows(T* weights, float* state, const float* gradient, Lookups l, std::int64_t dim) {
  const std::int64_t which = thread_index() / Group;
  const bool occurs = which < *l.count;
  const bool exists = occurs && l.lengths[which] <= kOftenOccurs;
  if (occurs && !exists && threadIdx.x % Group == 0) {
    l.often[atomicAdd(l.often_count, 1)] = static_cast<std::int32_t>(which);
  }
  const std::int64_t row = exists ? l.unique[which] : 0;
  float4 sum[kMostParts]{};
  if (exists) {
    const int begin = l.first[which];
    add_gradients<Group>(sum, gradient, l.bags, begin, begin + l.lengths[which], 1, dim);
  }
  apply<T, Group>(sum, weights + row * dim, state + row, dim, exists);
}

/// A block for each row that occurs often: its groups share the occurrences, the first adds their sums up.
template <class T, int Group>
__global__ void update_often_rows(T* weights, float* state, const float* gradient, Lookups l,
                                  std::int64_t dim) {
  constexpr int kGroups = kThreads / Group;
  __shared__ float4 parts[kThreads][kMostParts];
  for (int i = static_cast<int>(blockIdx.x); i < *l.often_count; i += static_cast<int>(gridDim.x)) {
    const std::int32_t which = l.often[i];
    const int length = l.lengths[which];
    const int begin = l.first[which];
    float4 sum[kMostParts]{};
    add_gradients<Group>(sum, gradient, l.bags, begin + static_cast<int>(threadIdx.x) / Group, begin + length,
                         kGroups, dim);
    for (int part = 0; part < kMostParts; ++part) {
      parts[threadIdx.x][part] = sum[part];
    }
    __syncthreads();
    if (threadIdx.x < 32) {  // the first warp as a whole, for its sums
      for (int group = 1; group < kGroups && threadIdx.x < Group; ++group) {
        for (int part = 0; part < kMostParts; ++part) {
          add_to(sum[part], parts[group * Group + threadIdx.x][part]);
        }
      }
      const std::int64_t row = l.unique[which];
      apply<T, Group>(sum, weights + row * dim, state + row, dim, threadIdx.x < Group);
    }
    __syncthreads();
  }
}

}  // namespace

Launch embedding_update(std::shared_ptr<const EmbeddingTables> tables, SortedLookups sorted) {
  Launch launch;
  with_weights(*tables, [&]<class T, int Group>(T, std::integral_constant<int, Group>) {
    const unsigned blocks = blocks_for(tables->unique_rows * Group, kThreads);
    launch = [tables, sorted, blocks](cudaStream_t stream) {
      const Lookups lookups{sorted.unique->as<std::int64_t>(),      sorted.first->as<std::int32_t>(),
                            sorted.lengths->as<std::int32_t>(),     sorted.count->as<std::int32_t>(),
                            sorted.sorted_bags->as<std::int32_t>(), sorted.often->as<std::int32_t>(),
                            sorted.often_count->as<std::int32_t>()};
      LOCKSTEP_CHECK(cudaMemsetAsync(lookups.often_count, 0, sizeof(std::int32_t), stream));
      update_rows<T, Group>
          <<<blocks, kThreads, 0, stream>>>(tables->weights->as<T>(), tables->state->as<float>(),
                                            tables->gradient->as<float>(), lookups, tables->dim);
      update_often_rows<T, Group>
          <<<132 * 4, kThreads, 0, stream>>>(tables->weights->as<T>(), tables->state->as<float>(),
                                             tables->gradient->as<float>(), lookups, tables->dim);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  });
  return launch;
}

}  // namespace lockstep
