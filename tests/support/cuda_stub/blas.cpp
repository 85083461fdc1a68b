/// @file
/// cuBLASLt and cuDNN of the stub: they name their sizes.

#include <cstdint>
#include <string>

#include "cublasLt.h"
#include "cudnn.h"
#include "stub.hpp"

using stub::give_up;
using stub::put_kernel;

const char* cublasLtGetStatusString(cublasStatus_t) {
  return "stub";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType) {
  *made = new StubMatmul{compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t made,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t) {
  made->operations[attribute] = *static_cast<const cublasOperation_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t) {
  *made = new StubLayout{type, rows, columns};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t made,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    made->batch = *static_cast<const std::int32_t*>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t, const void*,
                                                    std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t*, int* count) {
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void*, const void*,
                              cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t b, const void*,
                              const void*, cublasLtMatrixLayout_t c, void*, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t stream) {
  // By columns: C[c.rows, c.columns] = op(a) op(b). In the row-major words of the table m = c.columns, n =
  // c.rows.
  const bool a_transposed = operation->operations[0] == CUBLAS_OP_T;
  const bool b_transposed = operation->operations[1] == CUBLAS_OP_T;
  const std::uint64_t inner = a_transposed ? a->rows : a->columns;
  if (inner != (b_transposed ? b->columns : b->rows) || c->rows != (a_transposed ? a->columns : a->rows) ||
      c->columns != (b_transposed ? b->rows : b->columns)) {
    give_up("a product of matrices that do not fit");
  }
  put_kernel(stream, "gemm " + std::to_string(c->batch) + " " + std::to_string(c->columns) + " " +
                         std::to_string(c->rows) + " " + std::to_string(inner));
  return CUBLAS_STATUS_SUCCESS;
}

void stub_convolution(cudnnHandle_t handle, int pass, const StubTensor& x, const StubTensor& w,
                      const StubConvolution& c) {
  std::string text = "convolution";
  for (const int size :
       {pass, x.n, x.c, x.h, x.w, w.n, w.h, w.w, c.stride, c.padding_height, c.padding_width}) {
    text += " " + std::to_string(size);
  }
  put_kernel(handle->stream, text);
}
