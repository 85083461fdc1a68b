#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace lockstep {

/// A call of CUDA or one of its libraries that failed: `file:line: call: what went wrong`.
class CudaError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws CudaError unless @p status is success
void check(cudaError_t status, const char* call, const char* file, int line);
void check(cublasStatus_t status, const char* call, const char* file, int line);

[[noreturn]] void fail(const std::string& reason, const char* call, const char* file, int line);

}  // namespace lockstep

/// Every call goes through it; a macro, because std::source_location is not in all versions of nvcc.
#define LOCKSTEP_CHECK(call) ::lockstep::check((call), #call, __FILE__, __LINE__)
