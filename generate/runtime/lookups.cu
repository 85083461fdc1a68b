#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "calibration/measure/kernels/four_columns.cuh"
#include "calibration/measure/kernels/launch_size.cuh"
#include "generate/runtime/element.cuh"
#include "generate/runtime/families.cuh"
#include "generate/runtime/indices.cuh"

namespace benchmark {
namespace {

using lockstep::add_to;
using lockstep::blocks_for;
using lockstep::four_of;
using lockstep::store_four;
using lockstep::thread_index;

constexpr int kGroup = 32;  // threads that share a row

/// A table as kernels see it; lookups of bag b are [first + b * pooling, first + (b + 1) * pooling).
struct TableOnGpu {
  std::int64_t first_row;                                ///< among the rows of all tables
  std::int64_t weights;                                  ///< its first element among all weights
  std::int64_t first_look_up, pooling, columns, pooled;  ///< pooled: where its results begin
};

/// All tables of a call, on the GPU.
struct Lookups {
  const TableOnGpu* tables;
  const std::int64_t* rows;  ///< by lookup: its row in its table
  std::int64_t batch, table_count, count;
};

template <class T>
__global__ void look_up(const T* weights, float* pooled, Lookups l) {
  const std::int64_t bag = thread_index() / kGroup;
  if (bag >= l.batch * l.table_count) {
    return;
  }
  const TableOnGpu table = l.tables[bag / l.batch];
  const std::int64_t sample = bag % l.batch;
  const std::int64_t* const rows = l.rows + table.first_look_up + sample * table.pooling;
  for (std::int64_t column = thread_index() % kGroup * 4; column < table.columns; column += kGroup * 4) {
    float4 sum{0, 0, 0, 0};
    for (std::int64_t i = 0; i < table.pooling; ++i) {
      add_to(sum, four_of(weights + table.weights + rows[i] * table.columns + column));
    }
    store_four(pooled + table.pooled + sample * table.columns + column, sum);
  }
}

/// keys[i]: the row among those of all tables; values[i]: the lookup.
__global__ void make_keys(Lookups l, std::int64_t* keys, std::int32_t* values) {
  const std::int64_t i = thread_index();
  if (i >= l.count) {
    return;
  }
  std::int64_t table = 0;
  while (table + 1 < l.table_count && l.tables[table + 1].first_look_up <= i) {
    ++table;
  }
  keys[i] = l.tables[table].first_row + l.rows[i];
  values[i] = static_cast<std::int32_t>(i);
}

/// A group a lookup that is the first of its row: row-wise Adagrad with the gradients of all of them.
template <class T>
__global__ void update_rows(T* weights, float* state, const float* gradient, const std::int64_t* keys,
                            const std::int32_t* values, Lookups l) {
  const std::int64_t i = thread_index() / kGroup;
  if (i >= l.count || (i > 0 && keys[i] == keys[i - 1])) {
    return;
  }
  std::int64_t number = 0;
  while (number + 1 < l.table_count && l.tables[number + 1].first_look_up <= values[i]) {
    ++number;
  }
  const TableOnGpu table = l.tables[number];
  const std::int64_t row = keys[i] - table.first_row;
  const float rate = 0.01F / (sqrtf(state[keys[i]] + 1.0F));
  for (std::int64_t column = thread_index() % kGroup * 4; column < table.columns; column += kGroup * 4) {
    float4 sum{0, 0, 0, 0};
    for (std::int64_t j = i; j < l.count && keys[j] == keys[i]; ++j) {
      const std::int64_t sample = (values[j] - table.first_look_up) / table.pooling;
      add_to(sum, four_of(gradient + table.pooled + sample * table.columns + column));
    }
    T* const place = weights + table.weights + row * table.columns + column;
    float4 w = four_of(place);
    add_to(w, {-rate * sum.x, -rate * sum.y, -rate * sum.z, -rate * sum.w});
    store_four(place, w);
  }
  if (thread_index() % kGroup == 0) {
    state[keys[i]] += 1.0F;
  }
}

/// The tables of a call with their lookups, in memory of the device.
struct Tables {
  Lookups lookups{};
  std::int64_t rows = 0, elements = 0, pooled = 0;
  Memory* weights = nullptr;
  Memory* results = nullptr;
};

template <class T>
Memory& uploaded(Device& device, const std::vector<T>& values) {
  const std::size_t bytes = values.size() * sizeof(T);
  Memory& memory = device.keep(static_cast<std::int64_t>(bytes), "");
  BENCHMARK_CHECK(cudaMemcpy(memory.as<void>(), values.data(), bytes, cudaMemcpyHostToDevice));
  return memory;
}

Tables tables_of(Device& device, const Call& call) {
  Tables made;
  RandomNumbers random{device.seed()};
  std::vector<TableOnGpu> tables;
  std::vector<std::int64_t> rows;
  made.lookups.batch = call.integer("batch");
  for (const Fields& fields : call.tables) {
    const auto number = [&](const char* name, double otherwise) {
      const auto found = fields.find(name);
      return found == fields.end() ? otherwise : found->second;
    };
    const auto pooling =
        std::max<std::int64_t>(static_cast<std::int64_t>(number("pooling_factor", 1) + 0.5), 1);
    const auto columns = static_cast<std::int64_t>(number("dimension", 0));
    const std::vector<std::int64_t> drawn = draw_rows(fields, pooling * made.lookups.batch, random);
    tables.push_back(
        {made.rows, made.elements, static_cast<std::int64_t>(rows.size()), pooling, columns, made.pooled});
    rows.insert(rows.end(), drawn.begin(), drawn.end());
    made.rows += static_cast<std::int64_t>(number("rows", 1));
    made.elements += static_cast<std::int64_t>(number("rows", 1)) * columns;
    made.pooled += made.lookups.batch * columns;
  }
  made.lookups.table_count = static_cast<std::int64_t>(tables.size());
  made.lookups.count = static_cast<std::int64_t>(rows.size());
  made.lookups.tables = uploaded(device, tables).as<TableOnGpu>();
  made.lookups.rows = uploaded(device, rows).as<std::int64_t>();
  made.weights = &device.keep(made.elements * bytes_of_type(call.type), call.type);
  made.results = &device.keep(made.pooled * 4, "fp32");
  return made;
}

Grid grid_of(std::int64_t threads) {
  return {dim3{blocks_for(threads, lockstep::kThreads)}, lockstep::kThreads};
}

template <class T>
Launch forward(const Tables& t) {
  const Grid grid = grid_of(t.lookups.batch * t.lookups.table_count * kGroup);
  return [=](cudaStream_t stream) {
    launch(look_up<T>, grid, stream, t.weights->as<T>(), t.results->as<float>(), t.lookups);
  };
}

/// Keys, a radix sort, the update: as FBGEMM's backward pass.
template <class T>
Launch backward(Device& device, const Tables& t) {
  const std::int64_t count = t.lookups.count;
  Memory& keys = device.keep(count * 8, "");
  Memory& sorted_keys = device.keep(count * 8, "");
  Memory& values = device.keep(count * 4, "");
  Memory& sorted_values = device.keep(count * 4, "");
  Memory& state = device.keep(t.rows * 4, "");
  const auto sort = [=, &keys, &sorted_keys, &values, &sorted_values](void* workspace, std::size_t& bytes,
                                                                      cudaStream_t stream) {
    BENCHMARK_CHECK(cub::DeviceRadixSort::SortPairs(
        workspace, bytes, keys.as<std::int64_t>(), sorted_keys.as<std::int64_t>(), values.as<std::int32_t>(),
        sorted_values.as<std::int32_t>(), static_cast<int>(count), 0, 48, stream));
  };
  std::size_t needed = 0;
  sort(nullptr, needed, nullptr);
  Memory& workspace = device.keep(static_cast<std::int64_t>(needed), "");
  return [=, &keys, &sorted_keys, &values, &sorted_values, &state, &workspace](cudaStream_t stream) {
    launch(make_keys, grid_of(count), stream, t.lookups, keys.as<std::int64_t>(), values.as<std::int32_t>());
    std::size_t bytes = needed;
    sort(workspace.as<void>(), bytes, stream);
    launch(update_rows<T>, grid_of(count * kGroup), stream, t.weights->as<T>(), state.as<float>(),
           t.results->as<float>(), sorted_keys.as<std::int64_t>(), sorted_values.as<std::int32_t>(),
           t.lookups);
  };
}

template <class T>
Launch lookups(Device& device, const Call& call) {
  const Tables tables = tables_of(device, call);
  return call.integer("direction") == 1 ? backward<T>(device, tables) : forward<T>(tables);
}

}  // namespace

Launch make_look_up(Device& device, const Call& call) {
  return call.type == "fp16" ? lookups<__half>(device, call) : lookups<float>(device, call);
}

}  // namespace benchmark
