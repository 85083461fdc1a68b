#include "generate/runtime/fused_rows.cuh"

#include <algorithm>
#include <cmath>

#include "calibration/measure/kernels/row_threads.cuh"

namespace benchmark {
namespace {

using lockstep::blocks_for;
using lockstep::kThreads;
using lockstep::RowThreads;

constexpr std::int64_t kShortRow = 1024;  // a warp takes it

/// Matrices of [rows, columns] one behind the other; of the last only some rows are read or written.
struct FusedMatrices {
  std::int64_t rows, columns;
  int reads, again, writes;
  std::int64_t last_read, last_again, last_written;  ///< rows of the last matrices
};

/// The sum of a row's elements in all matrices that it is read from.
template <class T, class Threads>
__device__ float read_row(const T* in, const FusedMatrices& m, std::int64_t row, int matrices,
                          std::int64_t of_last) {
  float sum = 0;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    if (matrix + 1 < matrices || row < of_last) {
      const T* const from = in + (matrix * m.rows + row) * m.columns;
      for (std::int64_t i = Threads::lane(); i < m.columns; i += Threads::kWidth) {
        sum += lockstep::to_float(from[i]);
      }
    }
  }
  return sum;
}

template <class T, class Threads>
__global__ void fused_rows(const T* in, T* out, FusedMatrices m) {
  const std::int64_t row = Threads::row();
  const bool exists = row < m.rows;
  float sum = exists ? read_row<T, Threads>(in, m, row, m.reads, m.last_read) : 0.0F;
  sum = Threads::sum(sum) / static_cast<float>(m.columns);
  const float again = exists ? read_row<T, Threads>(in, m, row, m.again, m.last_again) : 0.0F;
  for (int matrix = 0; exists && matrix < m.writes; ++matrix) {
    if (matrix + 1 < m.writes || row < m.last_written) {
      T* const to = out + (matrix * m.rows + row) * m.columns;
      for (std::int64_t i = Threads::lane(); i < m.columns; i += Threads::kWidth) {
        to[i] = lockstep::from_float<T>(sum * 0.1F + again * 0.01F);
      }
    }
  }
}

/// Rows of the last of @p matrices matrices, of which it may be a part.
std::int64_t of_last(double matrices, std::int64_t rows) {
  return static_cast<std::int64_t>(
      std::llround((matrices - std::ceil(matrices) + 1) * static_cast<double>(rows)));
}

template <class T, class Threads>
Launch launch_of(Arena& input, Arena& output, const FusedMatrices& m) {
  const auto bytes = [&](int matrices) {
    return std::max(matrices, 1) * m.rows * m.columns * static_cast<std::int64_t>(sizeof(T));
  };
  const std::int64_t in = bytes(std::max(m.reads, m.again));
  const std::int64_t out = bytes(m.writes);
  input.need(in);
  output.need(out);
  const Grid grid{dim3{blocks_for(m.rows, Threads::kRows)}, kThreads};
  return [=, &input, &output](cudaStream_t stream) {
    launch(fused_rows<T, Threads>, grid, stream, reinterpret_cast<const T*>(input.take(in)),
           reinterpret_cast<T*>(output.take(out)), m);
  };
}

}  // namespace

Launch make_fused_rows(Device& device, const Call& call) {
  const double reads = call.number("fused_reads");
  const double again = call.number("fused_again");
  const double writes = call.number("fused_writes");
  const std::int64_t rows = std::max<std::int64_t>(call.integer("rows"), 1);
  const FusedMatrices m{.rows = rows,
                        .columns = std::max<std::int64_t>(call.integer("columns"), 1),
                        .reads = static_cast<int>(std::ceil(reads)),
                        .again = static_cast<int>(std::ceil(again)),
                        .writes = static_cast<int>(std::ceil(writes)),
                        .last_read = of_last(reads, rows),
                        .last_again = of_last(again, rows),
                        .last_written = of_last(writes, rows)};
  return with_element(call.type, [&]<class T>(T) {
    Arena& input = device.input(call.type);
    return m.columns <= kShortRow ? launch_of<T, RowThreads<32>>(input, device.output(), m)
                                  : launch_of<T, RowThreads<kThreads>>(input, device.output(), m);
  });
}

}  // namespace benchmark
