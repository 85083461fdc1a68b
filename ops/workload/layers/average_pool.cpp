#include "ops/workload/layers/average_pool.hpp"

namespace lockstep::kernels {
namespace {

struct Counts {
  double thread, row, element;
  [[nodiscard]] double of(double rows, double elements) const {
    return thread + row * rows + element * elements;
  }
};

double pixels(std::int64_t planes, std::int64_t height, std::int64_t width) {
  return static_cast<double>(planes * height * width);
}

}  // namespace

KernelCall average_pool_forward(const Pool& pool, DataType type, bool channels_first, PoolSizes sizes) {
  const Counts counts = sizes == PoolSizes::Wide
                            ? (channels_first ? Counts{160, 17, 7.5} : Counts{250, 30, 18})
                            : (channels_first ? Counts{128, 15, 8} : Counts{152, 15, 9});
  const auto rows = static_cast<double>(pool.window_height);
  const double seen = rows * static_cast<double>(pool.window_width);
  const std::int64_t outputs = pool.planes * pool.out_height * pool.out_width;
  return {channels_first ? "avg_pool2d_out_cuda_frame" : "avg_pool2d_out_cuda_frame_nhwc", type,
          Pointwise{.elements = outputs,
                    .reads = pixels(pool.planes, pool.height, pool.width) / static_cast<double>(outputs),
                    .flops = seen,
                    .instructions = counts.of(rows, seen)}};
}

KernelCall average_pool_backward(const Pool& pool, DataType type, bool channels_first, PoolSizes sizes) {
  const Counts counts = sizes == PoolSizes::Wide
                            ? (channels_first ? Counts{246, 28, 37} : Counts{269, 31.5, 44})
                            : (channels_first ? Counts{208, 24, 34} : Counts{242, 25, 36});
  const double seen = pool.over_pixel();
  const std::int64_t inputs = pool.planes * pool.height * pool.width;
  return {
      channels_first ? "avg_pool2d_backward_out_cuda_frame" : "avg_pool2d_backward_out_cuda_frame_nhwc", type,
      Pointwise{.elements = inputs,
                .reads = pixels(pool.planes, pool.out_height, pool.out_width) / static_cast<double>(inputs),
                .flops = 2 * seen,
                .instructions = counts.of(pool.rows_over_pixel(), seen)}};
}

}  // namespace lockstep::kernels
