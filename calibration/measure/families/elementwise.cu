#include "calibration/measure/families/elementwise.cuh"

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/kernels/element_types.cuh"
#include "calibration/measure/kernels/launch_size.cuh"

namespace lockstep {
namespace {

constexpr std::int64_t kColumns = 1024;  // of the row that bias_add adds
constexpr float kKept = 0.9F;            // of dropout

/// result = f(x, y, index), sixteen bytes of x a thread. f says whether it reads y.
template <class T, class R, class F>
__global__ void map(const T* __restrict__ x, const T* __restrict__ y, R* __restrict__ result,
                    std::int64_t elements, F f) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t first = thread_index() * kWidth;
  if (first >= elements) {
    return;
  }
  const auto xs = *reinterpret_cast<const Vector<T, kWidth>*>(x + first);
  Vector<T, kWidth> ys{};
  if constexpr (F::kReadsY) {
    ys = *reinterpret_cast<const Vector<T, kWidth>*>(y + first);
  }
  Vector<R, kWidth> results;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    results.at[i] = from_float<R>(f(to_float(xs.at[i]), to_float(ys.at[i]), first + i));
  }
  *reinterpret_cast<Vector<R, kWidth>*>(result + first) = results;
}

struct Unary {
  static constexpr bool kReadsY = false;
};
struct Binary {
  static constexpr bool kReadsY = true;
};
struct Relu : Unary {
  __device__ float operator()(float x, float, std::int64_t) const { return fmaxf(x, 0.0F); }
};
struct Identity : Unary {
  __device__ float operator()(float x, float, std::int64_t) const { return x; }
};
struct Tanh : Unary {
  __device__ float operator()(float x, float, std::int64_t) const { return tanhf(x); }
};
struct Gelu : Unary {
  __device__ float operator()(float x, float, std::int64_t) const {
    return 0.5F * x * (1.0F + erff(x * 0.70710678F));
  }
};
struct GeluBackward : Binary {
  __device__ float operator()(float x, float dy, std::int64_t) const {
    const float below = 0.5F * (1.0F + erff(x * 0.70710678F));
    return dy * (below + x * 0.39894228F * expf(-0.5F * x * x));
  }
};
struct Add : Binary {
  __device__ float operator()(float x, float y, std::int64_t) const { return x + y; }
};
template <class T>
struct BiasAdd : Unary {
  const T* bias;
  __device__ float operator()(float x, float, std::int64_t i) const {
    return x + to_float(bias[i % kColumns]);
  }
};
struct Dropout : Unary {
  std::uint8_t* mask;
  __device__ float operator()(float x, float, std::int64_t i) const {
    const bool kept = random_number(static_cast<std::uint64_t>(i), 7) < 2 * kKept - 1;
    mask[i] = kept ? 1 : 0;
    return kept ? x / kKept : 0.0F;
  }
};

template <class T, class R = T, class F>
Launch map_launch(const Elementwise& arrays, std::int64_t elements, F f) {
  const unsigned blocks = blocks_for(elements, kThreads * 16 / static_cast<std::int64_t>(sizeof(T)));
  return [=, x = arrays.x, y = arrays.y, result = arrays.result](cudaStream_t stream) {
    map<<<blocks, kThreads, 0, stream>>>(x->as<T>(), F::kReadsY ? y->as<T>() : nullptr, result->as<R>(),
                                         elements, f);
    LOCKSTEP_CHECK(cudaGetLastError());
  };
}

template <class T>
Launch launch_of(const std::string& operation, const Elementwise& arrays, std::int64_t elements) {
  if (operation == "relu") {
    return map_launch<T>(arrays, elements, Relu{});
  }
  if (operation == "gelu") {
    return map_launch<T>(arrays, elements, Gelu{});
  }
  if (operation == "tanh") {
    return map_launch<T>(arrays, elements, Tanh{});
  }
  if (operation == "to_fp32") {
    return map_launch<T, float>(arrays, elements, Identity{});
  }
  if (operation == "bias_add") {
    return map_launch<T>(arrays, elements, BiasAdd<T>{{}, arrays.y->as<T>()});
  }
  if (operation == "dropout") {
    return map_launch<T>(arrays, elements, Dropout{{}, arrays.y->as<std::uint8_t>()});
  }
  if (operation == "add") {
    return map_launch<T>(arrays, elements, Add{});
  }
  if (operation == "gelu_backward") {
    return map_launch<T>(arrays, elements, GeluBackward{});
  }
  throw std::logic_error{"no element-wise operation " + operation};
}

}  // namespace

Elementwise elementwise(const std::string& operation, const std::string& type, std::int64_t elements) {
  Elementwise arrays{.x = random_numbers(type, elements, 1),
                     .y = random_numbers(type, elements, 2),
                     .result = random_numbers("fp32", elements, 3),
                     .launch = {}};
  with_type(type, [&]<class T>(T) { arrays.launch = launch_of<T>(operation, arrays, elements); });
  return arrays;
}

std::unique_ptr<Experiment> elementwise_experiment(const Gpu& gpu, const GridPoint& point) {
  return gpu_experiment(
      gpu, Cache::Cold,
      elementwise(point.text("operation"), point.text("type"), point.integer("elements")).launch);
}

}  // namespace lockstep
