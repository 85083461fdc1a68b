#include "calibration/measure/families/normalisation.cuh"

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/kernels/normalisation.cuh"

namespace lockstep {
namespace {

constexpr std::int64_t kShortRow = 1024;

/// What the kernels are launched with.
struct Shape {
  std::int64_t rows, columns;
  unsigned blocks;
  std::size_t shared;  ///< bytes that hold the rows of a block
};

/// More than 48 KiB of shared memory must be asked for.
template <class Kernel>
void allow_shared_memory(Kernel kernel, std::size_t bytes) {
  LOCKSTEP_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

template <class T, class Threads>
Launch launch_of(const std::string& operation, const NormalisationArrays& arrays, const SharedMemory& weight,
                 const SharedMemory& bias, Shape s) {
  s.blocks = blocks_for(s.rows, Threads::kRows);
  s.shared = static_cast<std::size_t>(Threads::kRows * s.columns) * sizeof(float);
  const SharedMemory x = arrays.x;
  const SharedMemory dy = arrays.dy;
  const SharedMemory result = arrays.result;
  const SharedMemory gradient = arrays.gradient;
  if (operation == "softmax") {
    allow_shared_memory(softmax<T, Threads>, s.shared);
    return [=](cudaStream_t stream) {
      softmax<T, Threads>
          <<<s.blocks, kThreads, s.shared, stream>>>(x->as<T>(), result->as<T>(), s.rows, s.columns);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (operation == "softmax_backward") {
    return [=](cudaStream_t stream) {
      softmax_backward<T, Threads>
          <<<s.blocks, kThreads, 0, stream>>>(x->as<T>(), dy->as<T>(), result->as<T>(), s.rows, s.columns);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (operation == "layer_norm") {
    allow_shared_memory(layer_norm<T, Threads>, s.shared);
    return [=](cudaStream_t stream) {
      layer_norm<T, Threads><<<s.blocks, kThreads, s.shared, stream>>>(
          x->as<T>(), weight->as<T>(), bias->as<T>(), result->as<T>(), s.rows, s.columns);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (operation != "layer_norm_backward") {
    throw std::logic_error{"no normalisation " + operation};
  }
  const dim3 tiles{blocks_for(s.columns, 32), blocks_for(s.rows, kGradientRows)};
  return [=](cudaStream_t stream) {
    layer_norm_backward<T, Threads><<<s.blocks, kThreads, 0, stream>>>(
        x->as<T>(), dy->as<T>(), weight->as<T>(), result->as<T>(), s.rows, s.columns);
    weight_gradient<<<tiles, kThreads, 0, stream>>>(x->as<T>(), dy->as<T>(), gradient->as<float>(), s.rows,
                                                    s.columns);
    LOCKSTEP_CHECK(cudaGetLastError());
  };
}

}  // namespace

NormalisationArrays normalisation(const std::string& operation, const std::string& type, std::int64_t rows,
                                  std::int64_t columns) {
  NormalisationArrays made{.x = random_numbers(type, rows * columns, 1),
                           .dy = random_numbers(type, rows * columns, 2),
                           .result = random_numbers(type, rows * columns, 3),
                           .gradient = zeros(2 * columns * 4),
                           .launch = {}};
  const SharedMemory weight = random_numbers(type, columns, 4);
  const SharedMemory bias = random_numbers(type, columns, 5);
  const Shape shape{rows, columns, 0, 0};
  with_type(type, [&]<class T>(T) {
    made.launch = columns <= kShortRow
                      ? launch_of<T, RowThreads<32>>(operation, made, weight, bias, shape)
                      : launch_of<T, RowThreads<kThreads>>(operation, made, weight, bias, shape);
  });
  return made;
}

std::unique_ptr<Experiment> normalisation_experiment(const Gpu& gpu, const GridPoint& point) {
  return gpu_experiment(gpu, Cache::Cold,
                        normalisation(point.text("operation"), point.text("type"), point.integer("rows"),
                                      point.integer("columns"))
                            .launch);
}

}  // namespace lockstep
