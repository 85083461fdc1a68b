#include <algorithm>

#include "calibration/measure/kernels/normalisation.cuh"
#include "calibration/measure/kernels/sums.cuh"
#include "generate/runtime/element.cuh"
#include "generate/runtime/families.cuh"
#include "generate/runtime/fused_rows.cuh"

namespace benchmark {
namespace {

using lockstep::blocks_for;
using lockstep::kThreads;
using lockstep::RowThreads;

constexpr std::int64_t kShortRow = 1024;       // a warp takes it, as in PyTorch's softmax
constexpr std::int64_t kMostColumns = 12'288;  // a row in float fits into 48 KiB of shared memory
constexpr std::int64_t kWarp = 32;

/// A matrix by rows, and where its operands come from.
struct Matrix {
  std::int64_t rows, columns, bytes;
  Arena *input, *output;
};

template <class T>
Matrix matrix_of(Device& device, const std::string& type, std::int64_t rows, std::int64_t columns) {
  const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(sizeof(T));
  const Matrix made{rows, columns, bytes, &device.input(type), &device.output()};
  made.input->need(bytes);
  made.output->need(bytes);
  return made;
}

template <class T>
const T* read(const Matrix& matrix, std::int64_t bytes) {
  return reinterpret_cast<const T*>(matrix.input->take(bytes));
}

template <class T>
T* written(const Matrix& matrix, std::int64_t bytes) {
  return reinterpret_cast<T*>(matrix.output->take(bytes));
}

Grid grid_of_columns(const Matrix& m, std::int64_t rows_of_a_block) {
  return {dim3{blocks_for(m.columns, kWarp), blocks_for(m.rows, rows_of_a_block)}, kThreads};
}

template <class T>
Launch sum(Device& device, const Call& call) {
  const Matrix m = matrix_of<T>(device, call.type, call.integer("rows", 1), call.integer("columns"));
  const std::int64_t results = std::max(m.rows, m.columns) * 4;
  Memory& sums = device.keep(results, "");
  if (call.integer("across_rows") == 1) {
    return [=, &sums](cudaStream_t stream) {
      launch(lockstep::sum_columns<T>, grid_of_columns(m, lockstep::kRowsOfASum), stream, read<T>(m, m.bytes),
             sums.as<float>(), m.rows, m.columns);
    };
  }
  constexpr std::int64_t kFewRows = 64;
  constexpr std::int64_t kWidth = 16 / static_cast<std::int64_t>(sizeof(T));
  if (m.rows < kFewRows || m.columns % kWidth != 0) {  // a block a row would leave most of the GPU idle
    const std::int64_t count = std::max(m.rows * m.columns / kWidth * kWidth, kWidth);
    const Grid grid{dim3{std::min(blocks_for(count, kThreads * kWidth), 132U * 8)}, kThreads};
    m.input->need(count * static_cast<std::int64_t>(sizeof(T)));
    return [=, &sums](cudaStream_t stream) {
      launch(lockstep::sum_all<T>, grid, stream, read<T>(m, m.bytes), sums.as<float>(), count);
    };
  }
  const Grid grid{dim3{static_cast<unsigned>(m.rows)}, kThreads};
  return [=, &sums](cudaStream_t stream) {
    launch(lockstep::sum_rows<T>, grid, stream, read<T>(m, m.bytes), sums.as<float>(), m.columns);
  };
}

template <class T, class Threads>
Launch softmax(const Matrix& m, bool is_backward) {
  Grid grid{dim3{blocks_for(m.rows, Threads::kRows)}, kThreads};
  if (is_backward) {
    return [=](cudaStream_t stream) {
      launch(lockstep::softmax_backward<T, Threads>, grid, stream, read<T>(m, m.bytes), read<T>(m, m.bytes),
             written<T>(m, m.bytes), m.rows, m.columns);
    };
  }
  grid.shared = static_cast<std::size_t>(Threads::kRows * m.columns) * sizeof(float);
  return [=](cudaStream_t stream) {
    launch(lockstep::softmax<T, Threads>, grid, stream, read<T>(m, m.bytes), written<T>(m, m.bytes), m.rows,
           m.columns);
  };
}

template <class T, class Threads>
Launch layer_norm(const Matrix& m, bool is_backward) {
  const std::int64_t weights = m.columns * static_cast<std::int64_t>(sizeof(T));
  m.input->need(weights);
  Grid grid{dim3{blocks_for(m.rows, Threads::kRows)}, kThreads};
  if (is_backward) {
    return [=](cudaStream_t stream) {
      launch(lockstep::layer_norm_backward<T, Threads>, grid, stream, read<T>(m, m.bytes),
             read<T>(m, m.bytes), read<T>(m, weights), written<T>(m, m.bytes), m.rows, m.columns);
    };
  }
  grid.shared = static_cast<std::size_t>(Threads::kRows * m.columns) * sizeof(float);
  return [=](cudaStream_t stream) {
    launch(lockstep::layer_norm<T, Threads>, grid, stream, read<T>(m, m.bytes), read<T>(m, weights),
           read<T>(m, weights), written<T>(m, m.bytes), m.rows, m.columns);
  };
}

/// Rows whose kernel a warp or a block can take; others are streamed with as many bytes.
bool has_kernel(std::int64_t columns) {
  return columns % kWarp == 0 && columns <= kMostColumns;
}

template <class T>
Launch softmax(Device& device, const Call& call) {
  const bool is_backward = call.integer("direction") == 1;
  const std::int64_t rows = call.integer("rows");
  const std::int64_t columns = call.integer("columns");
  if (!has_kernel(columns)) {
    return make_streaming(device, call.type, rows * columns, is_backward ? 2 : 1, 1, 4);
  }
  const Matrix m = matrix_of<T>(device, call.type, rows, columns);
  return columns <= kShortRow ? softmax<T, RowThreads<32>>(m, is_backward)
                              : softmax<T, RowThreads<kThreads>>(m, is_backward);
}

template <class T>
Launch layer_norm(Device& device, const Call& call) {
  enum Part { kForward, kInputGradient, kParameterGradient };
  const std::int64_t part = call.integer("part");
  const std::int64_t rows = call.integer("rows");
  const std::int64_t columns = call.integer("columns");
  if (!has_kernel(columns)) {
    return make_streaming(device, call.type, rows * columns, part == kForward ? 1 : 2,
                          part == kParameterGradient ? 0 : 1, 4);
  }
  const Matrix m = matrix_of<T>(device, call.type, rows, columns);
  if (part == kParameterGradient) {
    Memory& gradient = device.keep(2 * columns * 4, "");
    return [=, &gradient](cudaStream_t stream) {
      launch(lockstep::weight_gradient<T>, grid_of_columns(m, lockstep::kGradientRows), stream,
             read<T>(m, m.bytes), read<T>(m, m.bytes), gradient.as<float>(), m.rows, m.columns);
    };
  }
  return columns <= kShortRow ? layer_norm<T, RowThreads<32>>(m, part == kInputGradient)
                              : layer_norm<T, RowThreads<kThreads>>(m, part == kInputGradient);
}

/// Positions of a channel's elements: image by image in NCHW, pixel by pixel with channels last.
struct ChannelLayout {
  std::int64_t batch, channels, pixels;
  bool channels_last;
  __device__ std::int64_t place(std::int64_t channel, std::int64_t i) const {
    return channels_last ? i * channels + channel : (i / pixels * channels + channel) * pixels + i % pixels;
  }
};

/// A block a channel: its mean and spread, then, if @p scales, every element scaled. With @p dy the gradient.
template <class T>
__global__ void batch_norm(const T* x, const T* dy, T* y, float* statistics, ChannelLayout layout,
                           bool scales) {
  const std::int64_t channel = blockIdx.x;
  const std::int64_t count = layout.batch * layout.pixels;
  float sum = 0;
  float product = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const std::int64_t place = layout.place(channel, i);
    const float value = lockstep::to_float(x[place]);
    sum += value;
    product += value * (dy == nullptr ? value : lockstep::to_float(dy[place]));
  }
  sum = RowThreads<kThreads>::sum(sum) / static_cast<float>(count);
  product = RowThreads<kThreads>::sum(product) / static_cast<float>(count);
  if (threadIdx.x == 0) {
    statistics[2 * channel] = sum;
    statistics[2 * channel + 1] = product;
  }
  for (std::int64_t i = threadIdx.x; scales && i < count; i += blockDim.x) {
    const std::int64_t place = layout.place(channel, i);
    const float value = lockstep::to_float(x[place]) - sum;
    y[place] = lockstep::from_float<T>(dy == nullptr ? value * rsqrtf(product + 1e-5F)
                                                     : lockstep::to_float(dy[place]) - value * product);
  }
}

template <class T>
Launch batch_norm(Device& device, const Call& call) {
  const ChannelLayout layout{call.integer("batch", 1), call.integer("channels"), call.integer("pixels", 1),
                             call.integer("channels_last") == 1};
  const Matrix m = matrix_of<T>(device, call.type, layout.batch * layout.pixels, layout.channels);
  const bool is_backward = call.integer("direction") == 1;
  const bool scales = is_backward || call.integer("own") == 0;
  Memory& statistics = device.keep(layout.channels * 8, "");
  const Grid grid{dim3{static_cast<unsigned>(layout.channels)}, kThreads};
  return [=, &statistics](cudaStream_t stream) {
    launch(batch_norm<T>, grid, stream, read<T>(m, m.bytes), is_backward ? read<T>(m, m.bytes) : nullptr,
           written<T>(m, m.bytes), statistics.as<float>(), layout, scales);
  };
}

}  // namespace

Launch make_rows(Device& device, const Call& call) {
  const bool is_whole =
      call.type == "int32" || call.type == "int64" || call.type == "uint8" || call.type == "bool";
  if (call.work == "reduction" && is_whole) {
    return make_streaming(device, call.type, call.integer("rows", 1) * call.integer("columns"), 1, 0, 1);
  }
  if (is_fused(call)) {
    return make_fused_rows(device, call);
  }
  return with_element(call.type, [&]<class T>(T) {
    return call.work == "reduction"    ? sum<T>(device, call)
           : call.work == "softmax"    ? softmax<T>(device, call)
           : call.work == "layer_norm" ? layer_norm<T>(device, call)
                                       : batch_norm<T>(device, call);
  });
}

}  // namespace benchmark
