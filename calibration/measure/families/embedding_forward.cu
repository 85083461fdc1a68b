#include "calibration/measure/families/embedding.cuh"
#include "calibration/measure/families/embedding_groups.cuh"
#include "calibration/measure/kernels/element_types.cuh"

namespace lockstep {
namespace {

template <class T, int Group>
__global__ void look_up(const T* __restrict__ weights, const std::int64_t* __restrict__ indices,
                        float* __restrict__ output, LookupShape shape) {
  const std::int64_t bag = thread_index() / Group;
  if (bag >= shape.bags) {
    return;
  }
  const T* table = weights + bag / shape.batch * shape.rows * shape.dim;
  const std::int64_t* rows = indices + bag * shape.pooling;
  for (std::int64_t column = thread_index() % Group * 4; column < shape.dim; column += Group * 4) {
    float4 sum{0, 0, 0, 0};
#pragma unroll 4
    for (std::int64_t i = 0; i < shape.pooling; ++i) {
      add_to(sum, four_of(table + rows[i] * shape.dim + column));
    }
    *reinterpret_cast<float4*>(output + bag * shape.dim + column) = sum;
  }
}

}  // namespace

Launch embedding_forward(std::shared_ptr<const EmbeddingTables> tables) {
  Launch launch;
  with_weights(*tables, [&]<class T, int Group>(T, std::integral_constant<int, Group>) {
    launch = [tables, blocks = blocks_for(tables->bags() * Group, kThreads)](cudaStream_t stream) {
      look_up<T, Group><<<blocks, kThreads, 0, stream>>>(tables->weights->as<T>(),
                                                         tables->indices->as<std::int64_t>(),
                                                         tables->output->as<float>(), shape_of(*tables));
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  });
  return launch;
}

}  // namespace lockstep
