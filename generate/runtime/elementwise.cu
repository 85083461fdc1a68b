#include <algorithm>
#include <cmath>

#include "calibration/measure/kernels/launch_size.cuh"
#include "generate/runtime/element.cuh"
#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

/// Tensors one behind the other, each of @p stride elements; of the last only a part may be read or written.
struct Passes {
  std::int64_t elements, stride;
  int reads, writes;
  std::int64_t last_read, last_written;  ///< elements of the last tensors
  int multiply_adds;                     ///< for each element
};

/// Each thread sixteen bytes of every tensor: their sum, with so much arithmetic, goes to every result.
template <class T>
__global__ void stream_tensors(const T* in, T* out, Passes p) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t first = lockstep::thread_index() * kWidth;
  if (first >= p.elements) {
    return;
  }
  float sums[kWidth] = {};
  for (int tensor = 0; tensor < p.reads; ++tensor) {
    if (tensor + 1 < p.reads || first < p.last_read) {
      const auto xs = *reinterpret_cast<const lockstep::Vector<T, kWidth>*>(in + tensor * p.stride + first);
      for (int i = 0; i < kWidth; ++i) {
        sums[i] += lockstep::to_float(xs.at[i]);
      }
    }
  }
  for (int step = 0; step < p.multiply_adds; ++step) {
    for (float& sum : sums) {
      sum = sum * 0.5F + 0.25F;
    }
  }
  lockstep::Vector<T, kWidth> result;
  for (int i = 0; i < kWidth; ++i) {
    result.at[i] = lockstep::from_float<T>(sums[i] / static_cast<float>(p.reads > 1 ? p.reads : 1));
  }
  for (int tensor = 0; tensor < p.writes; ++tensor) {
    if (tensor + 1 < p.writes || first < p.last_written) {
      *reinterpret_cast<lockstep::Vector<T, kWidth>*>(out + tensor * p.stride + first) = result;
    }
  }
}

/// Elements of the last of @p tensors tensors, of which it may be a part.
std::int64_t of_last(double tensors, std::int64_t elements) {
  const double part = tensors - std::ceil(tensors) + 1;
  return static_cast<std::int64_t>(std::llround(part * static_cast<double>(elements)));
}

template <class T>
Launch stream(Device& device, const std::string& type, Passes passes) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  passes.stride = (passes.elements + kWidth - 1) / kWidth * kWidth;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t in = std::max(passes.reads, 1) * passes.stride * size;
  const std::int64_t out = std::max(passes.writes, 1) * passes.stride * size;
  Arena& input = device.input(type);
  Arena& output = device.output();
  input.need(in);
  output.need(out);
  const Grid grid{dim3{lockstep::blocks_for(passes.stride, 256LL * kWidth)}};
  return [=, &input, &output](cudaStream_t stream) {
    launch(stream_tensors<T>, grid, stream, reinterpret_cast<const T*>(input.take(in)),
           reinterpret_cast<T*>(output.take(out)), passes);
  };
}

}  // namespace

Launch make_streaming(Device& device, const std::string& type, std::int64_t elements, double reads,
                      double writes, double flops) {
  std::string kept = type;
  if (type != "fp32" && type != "tf32" && type != "fp16" && type != "bf16") {
    elements = (elements * bytes_of_type(type) + 3) / 4;  // as many bytes in words of 32 bits
    kept = "fp32";
  }
  elements = std::max<std::int64_t>(elements, 1);
  writes = std::max(writes, 1e-6);  // what is never written would not be read either
  const Passes passes{.elements = elements,
                      .stride = elements,
                      .reads = static_cast<int>(std::ceil(reads)),
                      .writes = static_cast<int>(std::ceil(writes)),
                      .last_read = of_last(reads, elements),
                      .last_written = of_last(writes, elements),
                      .multiply_adds = static_cast<int>(flops / 2)};
  return with_element(kept, [&]<class T>(T) { return stream<T>(device, kept, passes); });
}

Launch make_elementwise(Device& device, const Call& call) {
  if (call.work == "optimizer") {
    return make_streaming(device, call.type, call.integer("parameters"), call.number("reads", 2),
                          call.number("writes", 1), call.number("flops", 2));
  }
  if (call.work == "concat") {
    return make_streaming(device, call.type, call.integer("elements"), 1, 1, 0);
  }
  return make_streaming(device, call.type, call.integer("elements"), call.number("reads", 1),
                        call.number("writes", 1), call.number("flops", 1));
}

}  // namespace benchmark
