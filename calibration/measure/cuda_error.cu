#include <fmt/format.h>

#include <string_view>

#include "calibration/measure/cuda_error.cuh"

namespace lockstep {

void fail(const std::string& reason, const char* call, const char* file, int line) {
  const std::string_view path{file};
  const std::size_t folder = path.rfind("calibration/");
  throw CudaError{fmt::format("{}:{}: {}: {}", folder == std::string_view::npos ? path : path.substr(folder),
                              line, call, reason)};
}

void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // so that the next call is not blamed for it
    fail(fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status)), call, file, line);
  }
}

void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail(cublasGetStatusString(status), call, file, line);
  }
}

}  // namespace lockstep
