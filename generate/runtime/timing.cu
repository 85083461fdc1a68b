#include "generate/runtime/timing.cuh"

#include <algorithm>

#include "generate/runtime/clock.cuh"

namespace benchmark {
namespace {

__global__ void nothing() {}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double between(cudaEvent_t first, cudaEvent_t second) {
  float milliseconds = 0;
  BENCHMARK_CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  return 1e-3 * static_cast<double>(milliseconds);
}

double time_of_launch(cudaStream_t stream) {
  constexpr int kLaunches = 1000;
  std::vector<double> times;
  for (int i = 0; i < kLaunches; ++i) {
    const double begin = host_now();
    launch(nothing, Grid{dim3{1}, 32}, stream);
    times.push_back(host_now() - begin);
    if (i % 100 == 0) {
      BENCHMARK_CHECK(cudaDeviceSynchronize());
    }
  }
  BENCHMARK_CHECK(cudaDeviceSynchronize());
  return median(times);
}

std::vector<double> times_alone(const std::vector<Launch>& kernels, cudaStream_t stream) {
  constexpr int kRepeats = 5;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  BENCHMARK_CHECK(cudaEventCreateWithFlags(&begin, cudaEventDefault));
  BENCHMARK_CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault));
  std::vector<double> all;
  for (const Launch& kernel : kernels) {
    std::vector<double> times;
    for (int i = 0; kernel && i < kRepeats; ++i) {
      BENCHMARK_CHECK(cudaEventRecord(begin, stream));
      kernel(stream);
      BENCHMARK_CHECK(cudaEventRecord(end, stream));
      BENCHMARK_CHECK(cudaEventSynchronize(end));
      times.push_back(between(begin, end));
    }
    all.push_back(kernel ? median(times) : -1);
  }
  BENCHMARK_CHECK(cudaEventDestroy(begin));
  BENCHMARK_CHECK(cudaEventDestroy(end));
  return all;
}

}  // namespace benchmark
