#include "calibration/measure/families/normalisation.cuh"

#include "calibration/measure/element_types.cuh"
#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/row_threads.cuh"

namespace lockstep {
namespace {

constexpr float kEpsilon = 1e-5F;
constexpr std::int64_t kShortRow = 1024;

extern __shared__ float row_cache[];  ///< the rows of a block, in float

/// y = exp(x - max) / sum; the row is read once.
template <class T, class Threads>
__global__ void softmax(const T* x, T* y, std::int64_t rows, std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  float* cached = row_cache + Threads::row_in_block() * columns;
  const T* from = x + Threads::row() * columns;
  float largest = -INFINITY;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = to_float(from[i]);
    largest = fmaxf(largest, cached[i]);
  }
  largest = Threads::max(largest);
  float sum = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = __expf(cached[i] - largest);
    sum += cached[i];
  }
  const float scale = 1.0F / Threads::sum(sum);
  T* to = y + Threads::row() * columns;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    to[i] = from_float<T>(cached[i] * scale);
  }
}

/// dx = y (dy - sum(y dy)); the second reading finds the row in a cache.
template <class T, class Threads>
__global__ void softmax_backward(const T* y, const T* dy, T* dx, std::int64_t rows, std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  const std::int64_t first = Threads::row() * columns;
  float product = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    product += to_float(y[first + i]) * to_float(dy[first + i]);
  }
  product = Threads::sum(product);
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    dx[first + i] = from_float<T>(to_float(y[first + i]) * (to_float(dy[first + i]) - product));
  }
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias; the row is read once.
template <class T, class Threads>
__global__ void layer_norm(const T* x, const T* weight, const T* bias, T* y, std::int64_t rows,
                           std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  float* cached = row_cache + Threads::row_in_block() * columns;
  const T* from = x + Threads::row() * columns;
  float sum = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    cached[i] = to_float(from[i]);
    sum += cached[i];
  }
  const float mean = Threads::sum(sum) / static_cast<float>(columns);
  float squares = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    squares += (cached[i] - mean) * (cached[i] - mean);
  }
  const float scale = rsqrtf(Threads::sum(squares) / static_cast<float>(columns) + kEpsilon);
  T* to = y + Threads::row() * columns;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    to[i] = from_float<T>((cached[i] - mean) * scale * to_float(weight[i]) + to_float(bias[i]));
  }
}

/// dx = g - mean(g) - x mean(g x) with g = dy weight, for rows of mean 0 and deviation 1.
template <class T, class Threads>
__global__ void layer_norm_backward(const T* x, const T* dy, const T* weight, T* dx, std::int64_t rows,
                                    std::int64_t columns) {
  const bool exists = Threads::row() < rows;
  const std::int64_t first = Threads::row() * columns;
  float sum = 0;
  float product = 0;
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    const float g = to_float(dy[first + i]) * to_float(weight[i]);
    sum += g;
    product += g * to_float(x[first + i]);
  }
  sum = Threads::sum(sum) / static_cast<float>(columns);
  product = Threads::sum(product) / static_cast<float>(columns);
  for (std::int64_t i = Threads::lane(); exists && i < columns; i += Threads::kWidth) {
    const float g = to_float(dy[first + i]) * to_float(weight[i]);
    dx[first + i] = from_float<T>(g - sum - to_float(x[first + i]) * product);
  }
}

/// Adds sum(dy x) and sum(dy) of each column to gradient; a block takes 32 columns of up to 256 rows.
constexpr std::int64_t kGradientRows = 256;
template <class T>
__global__ void weight_gradient(const T* x, const T* dy, float* gradient, std::int64_t rows,
                                std::int64_t columns) {
  __shared__ float parts[2][kThreads / 32][32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::int64_t column = blockIdx.x * 32LL + lane;
  const std::int64_t end = min(rows, (blockIdx.y + 1) * kGradientRows);
  float of_weight = 0;
  float of_bias = 0;
  for (std::int64_t row = blockIdx.y * kGradientRows + warp; row < end; row += kThreads / 32) {
    const float g = to_float(dy[row * columns + column]);
    of_weight += g * to_float(x[row * columns + column]);
    of_bias += g;
  }
  parts[0][warp][lane] = of_weight;
  parts[1][warp][lane] = of_bias;
  __syncthreads();
  if (warp < 2) {
    float sum = 0;
    for (const auto& of_warp : parts[warp]) {
      sum += of_warp[lane];
    }
    atomicAdd(gradient + warp * columns + column, sum);
  }
}

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
