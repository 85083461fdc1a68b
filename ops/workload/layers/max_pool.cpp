#include "ops/workload/layers/max_pool.hpp"

#include "base/units.hpp"

namespace lockstep::kernels {
namespace {

constexpr double kIndexBytes = 8;

/// Outputs and, in tensors of so many elements, what is on their side and on that of the inputs.
struct Sides {
  std::int64_t outputs = 0;
  double of_output = 0, of_input = 0;
};

Sides sides(const Pool& pool, DataType type) {
  const std::int64_t outputs = pool.planes * pool.out_height * pool.out_width;
  return {
      .outputs = outputs,
      .of_output = 1 + kIndexBytes / (size_of(type) / Bytes{1}),
      .of_input = static_cast<double>(pool.planes * pool.height * pool.width) / static_cast<double>(outputs)};
}

}  // namespace

KernelCall max_pool_forward(const Pool& pool, DataType type) {
  const Sides side = sides(pool, type);
  const auto rows = static_cast<double>(pool.window_height);
  const double seen = rows * static_cast<double>(pool.window_width);
  return {"max_pool_forward_nchw", type,
          Pointwise{.elements = side.outputs,
                    .reads = side.of_input,
                    .writes = side.of_output,
                    .flops = seen,
                    .instructions = 130 + 15 * rows + 20 * seen}};
}

KernelCall max_pool_backward(const Pool& pool, DataType type) {
  const Sides side = sides(pool, type);
  return {"max_pool_backward_nchw", type,
          Pointwise{
              .elements = side.outputs,
              .reads = side.of_output,
              .writes = side.of_input,
              .flops = side.of_input * pool.over_pixel(),
              .instructions = side.of_input * (200 + 12 * pool.rows_over_pixel() + 17 * pool.over_pixel())}};
}

}  // namespace lockstep::kernels
