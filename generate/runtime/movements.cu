#include <algorithm>

#include "calibration/measure/kernels/launch_size.cuh"
#include "generate/runtime/element.cuh"
#include "generate/runtime/families.cuh"
#include "generate/runtime/indices.cuh"

namespace benchmark {
namespace {

using lockstep::blocks_for;
using lockstep::kThreads;
using lockstep::thread_index;

constexpr int kTile = 32;

/// [batch, rows, columns] -> [batch, columns, rows], a tile of 32 x 32 a block, eight rows at a time.
template <class T>
__global__ void transpose(const T* in, T* out, std::int64_t rows, std::int64_t columns) {
  __shared__ T tile[kTile][kTile + 1];
  const std::int64_t first = blockIdx.z * rows * columns;
  const int x = static_cast<int>(threadIdx.x) % kTile;
  for (int y = static_cast<int>(threadIdx.x) / kTile; y < kTile; y += 8) {
    const std::int64_t row = blockIdx.y * static_cast<std::int64_t>(kTile) + y;
    const std::int64_t column = blockIdx.x * static_cast<std::int64_t>(kTile) + x;
    if (row < rows && column < columns) {
      tile[y][x] = in[first + row * columns + column];
    }
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.x) / kTile; y < kTile; y += 8) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(kTile) + y;
    const std::int64_t column = blockIdx.y * static_cast<std::int64_t>(kTile) + x;
    if (row < columns && column < rows) {
      out[first + row * rows + column] = tile[x][y];
    }
  }
}

/// out[pick] = table[rows[pick]], or the other way round added to the table.
template <class T>
__global__ void pick_rows(const T* in, T* out, float* sums, const std::int64_t* rows, std::int64_t picks,
                          std::int64_t columns) {
  const std::int64_t i = thread_index();
  if (i >= picks * columns) {
    return;
  }
  const std::int64_t row = rows[i / columns];
  if (sums == nullptr) {
    out[i] = in[row * columns + i % columns];
  } else {
    atomicAdd(sums + row * columns + i % columns, lockstep::to_float(in[i]));
  }
}

/// The triangle below the diagonal of [n, n] matrices, one behind the other; backward zeros elsewhere.
template <class T>
__global__ void triangle(const T* in, T* out, std::int64_t batch, std::int64_t n, bool diagonal,
                         bool backward) {
  const std::int64_t i = thread_index();
  if (i >= batch * n * n) {
    return;
  }
  const std::int64_t row = i / n % n;
  const std::int64_t column = i % n;
  const bool inside = diagonal ? column <= row : column < row;
  const std::int64_t before = diagonal ? row * (row + 1) / 2 : row * (row - 1) / 2;
  const std::int64_t size = diagonal ? n * (n + 1) / 2 : n * (n - 1) / 2;
  const std::int64_t packed = i / (n * n) * size + before + column;
  if (backward) {
    out[i] = inside ? in[packed] : lockstep::from_float<T>(0.0F);
  } else if (inside) {
    out[packed] = in[i];
  }
}

struct Operands {
  Arena *input, *output;
  std::int64_t bytes;
};

Operands operands(Device& device, const std::string& type, std::int64_t bytes) {
  const Operands made{&device.input(type), &device.output(), bytes};
  made.input->need(bytes);
  made.output->need(bytes);
  return made;
}

template <class T>
Launch transposition(Device& device, const Call& call, const std::string& type, std::int64_t per_element) {
  const std::int64_t batch = call.integer("batch", 1);
  const std::int64_t rows = call.integer("rows");
  const std::int64_t columns = call.integer("columns") * per_element;
  const Operands o = operands(device, type, batch * rows * columns * static_cast<std::int64_t>(sizeof(T)));
  constexpr std::int64_t kMostLayers = 65'535;
  if (batch > kMostLayers || blocks_for(rows, kTile) > kMostLayers) {
    return make_streaming(device, type, batch * rows * columns, 1, 1, 0);
  }
  const Grid grid{dim3{blocks_for(columns, kTile), blocks_for(rows, kTile), static_cast<unsigned>(batch)},
                  kThreads};
  return [=](cudaStream_t stream) {
    launch(transpose<T>, grid, stream, reinterpret_cast<const T*>(o.input->take(o.bytes)),
           reinterpret_cast<T*>(o.output->take(o.bytes)), rows, columns);
  };
}

template <class T>
Launch selection(Device& device, const Call& call) {
  const std::int64_t table_rows = std::max<std::int64_t>(call.integer("table_rows"), 1);
  const std::int64_t picks = call.integer("picks");
  const std::int64_t columns = call.integer("columns");
  const bool is_backward = call.integer("direction") == 1;
  RandomNumbers random{device.seed()};
  const std::vector<std::int64_t> drawn =
      draw_rows({{"rows", static_cast<double>(table_rows)}}, picks, random);
  Memory& rows = device.keep(picks * 8, "");
  BENCHMARK_CHECK(cudaMemcpy(rows.as<void>(), drawn.data(), drawn.size() * 8, cudaMemcpyHostToDevice));
  const auto size = static_cast<std::int64_t>(sizeof(T));
  Memory& table = is_backward ? device.keep(table_rows * columns * 4, "")
                              : device.keep(table_rows * columns * size, call.type);
  const Operands o = operands(device, call.type, picks * columns * size);
  const Grid grid{dim3{blocks_for(picks * columns, kThreads)}, kThreads};
  return [=, &rows, &table](cudaStream_t stream) {
    launch(pick_rows<T>, grid, stream,
           is_backward ? reinterpret_cast<const T*>(o.input->take(o.bytes)) : table.as<const T>(),
           reinterpret_cast<T*>(o.output->take(o.bytes)), is_backward ? table.as<float>() : nullptr,
           rows.as<std::int64_t>(), picks, columns);
  };
}

template <class T>
Launch triangles(Device& device, const Call& call) {
  const std::int64_t batch = call.integer("batch", 1);
  const std::int64_t n = call.integer("n");
  const bool diagonal = call.integer("diagonal") == 1;
  const bool is_backward = call.integer("direction") == 1;
  const Operands o = operands(device, call.type, batch * n * n * static_cast<std::int64_t>(sizeof(T)));
  const Grid grid{dim3{blocks_for(batch * n * n, kThreads)}, kThreads};
  return [=](cudaStream_t stream) {
    launch(triangle<T>, grid, stream, reinterpret_cast<const T*>(o.input->take(o.bytes)),
           reinterpret_cast<T*>(o.output->take(o.bytes)), batch, n, diagonal, is_backward);
  };
}

/// Transposes elements of any type by their size: 1, 2, 4 or 8 bytes.
Launch transposition(Device& device, const Call& call) {
  const std::int64_t size = bytes_of_type(call.type);
  return size == 2   ? transposition<__half>(device, call, "fp16", 1)
         : size == 8 ? transposition<float>(device, call, "fp32", 2)
         : size == 1 ? transposition<char>(device, call, "fp8", 1)
                     : transposition<float>(device, call, "fp32", 1);
}

}  // namespace

Launch make_movement(Device& device, const Call& call) {
  if (call.work == "transpose") {
    return transposition(device, call);
  }
  return with_element(call.type, [&]<class T>(T) {
    return call.work == "index_select" ? selection<T>(device, call) : triangles<T>(device, call);
  });
}

}  // namespace benchmark
