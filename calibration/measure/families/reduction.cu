#include "calibration/measure/families/reduction.cuh"

#include <algorithm>

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/kernels/sums.cuh"

namespace lockstep {
namespace {

template <class T>
Launch launch_of(const std::string& operation, SharedMemory x, SharedMemory sums, std::int64_t rows,
                 std::int64_t columns) {
  if (operation == "sum_of_row") {
    return [=](cudaStream_t stream) {
      sum_rows<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(x->as<T>(), sums->as<float>(), columns);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (operation == "sum_of_column") {
    const dim3 blocks{blocks_for(columns, 32), blocks_for(rows, kRowsOfASum)};
    return [=](cudaStream_t stream) {
      sum_columns<<<blocks, kThreads, 0, stream>>>(x->as<T>(), sums->as<float>(), rows, columns);
      LOCKSTEP_CHECK(cudaGetLastError());
    };
  }
  if (operation != "sum_of_all") {
    throw std::logic_error{"no reduction " + operation};
  }
  const unsigned blocks = std::min(blocks_for(rows * columns, kThreads * 16), 132U * 8);
  return [=](cudaStream_t stream) {
    sum_all<<<blocks, kThreads, 0, stream>>>(x->as<T>(), sums->as<float>(), rows * columns);
    LOCKSTEP_CHECK(cudaGetLastError());
  };
}

}  // namespace

ReductionArrays reduction(const std::string& operation, const std::string& type, std::int64_t rows,
                          std::int64_t columns) {
  const std::int64_t sums = operation == "sum_of_row" ? rows : operation == "sum_of_column" ? columns : 1;
  ReductionArrays made{.x = random_numbers(type, rows * columns, 1), .sums = zeros(sums * 4), .launch = {}};
  with_type(type,
            [&]<class T>(T) { made.launch = launch_of<T>(operation, made.x, made.sums, rows, columns); });
  return made;
}

std::unique_ptr<Experiment> reduction_experiment(const Gpu& gpu, const GridPoint& point) {
  return gpu_experiment(
      gpu, Cache::Cold,
      reduction(point.text("operation"), point.text("type"), point.integer("rows"), point.integer("columns"))
          .launch);
}

}  // namespace lockstep
