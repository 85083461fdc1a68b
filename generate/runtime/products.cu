#include <cublasLt.h>

#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail(cublasLtGetStatusString(status), call);
  }
}

#define BENCHMARK_CHECK_BLAS(call) check((call), #call)

constexpr std::size_t kWorkspace = 32U << 20U;  // as PyTorch gives it on Hopper

struct CublasLt {
  CublasLt() : workspace{kWorkspace} { BENCHMARK_CHECK_BLAS(cublasLtCreate(&handle)); }
  ~CublasLt() { static_cast<void>(cublasLtDestroy(handle)); }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  cublasLtHandle_t handle = nullptr;
  Memory workspace;
};

/// C[m, n] = A[m, k] B[k, n] by rows, batch times. cuBLAS counts columns first: its C' = B' A'.
struct Product {
  std::int64_t batch, m, n, k;
  bool transpose_a, transpose_b, adds;
  cudaDataType type, result;
  cublasComputeType_t compute;
};

cudaDataType cuda_type(const std::string& type) {
  return type == "fp16"   ? CUDA_R_16F
         : type == "bf16" ? CUDA_R_16BF
         : type == "fp8"  ? CUDA_R_8F_E4M3
                          : CUDA_R_32F;
}

Product product_of(const Call& call) {
  Product p{};
  p.batch = call.integer("batch", 1);
  p.m = call.integer("m");
  p.n = call.integer("n");
  p.k = call.integer("k");
  p.transpose_a = call.integer("transpose_a") == 1;
  p.transpose_b = call.integer("transpose_b") == 1;
  p.adds = call.integer("added_to") > 0;
  p.type = cuda_type(call.type);
  p.result = call.type == "fp8" ? CUDA_R_16BF : p.type;
  p.compute = call.type == "tf32" ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  return p;
}

/// The descriptions that cublasLtMatmul takes.
class Plan {
 public:
  Plan(CublasLt& blas, const Product& p) {
    BENCHMARK_CHECK_BLAS(cublasLtMatmulDescCreate(&operation, p.compute, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    b = p.transpose_b ? layout(p, p.type, p.k, p.n) : layout(p, p.type, p.n, p.k);
    a = p.transpose_a ? layout(p, p.type, p.m, p.k) : layout(p, p.type, p.k, p.m);
    c = layout(p, p.result, p.n, p.m);
    choose(blas);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (cublasLtMatrixLayout_t one : {b, a, c}) {
      static_cast<void>(cublasLtMatrixLayoutDestroy(one));
    }
    static_cast<void>(cublasLtMatmulDescDestroy(operation));
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t b = nullptr, a = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) const {
    BENCHMARK_CHECK_BLAS(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
  }

  static cublasLtMatrixLayout_t layout(const Product& p, cudaDataType type, std::int64_t rows,
                                       std::int64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    BENCHMARK_CHECK_BLAS(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                                    static_cast<std::uint64_t>(columns), rows));
    const auto batch = static_cast<std::int32_t>(p.batch);
    const std::int64_t apart = rows * columns;
    BENCHMARK_CHECK_BLAS(
        cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    BENCHMARK_CHECK_BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                          &apart, sizeof apart));
    return made;
  }

  void choose(CublasLt& blas) {
    cublasLtMatmulPreference_t preference = nullptr;
    BENCHMARK_CHECK_BLAS(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t workspace = kWorkspace;
    BENCHMARK_CHECK_BLAS(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(blas.handle, operation, b, a, c, c, preference, 1, &chosen, &found);
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
    BENCHMARK_CHECK_BLAS(status);
    if (found == 0) {
      fail("no algorithm for this product", "cublasLtMatmulAlgoGetHeuristic");
    }
  }
};

}  // namespace

Launch make_product(Device& device, const Call& call) {
  const Product p = product_of(call);
  auto& blas = device.library<CublasLt>();
  const auto plan = std::make_shared<Plan>(blas, p);
  const std::int64_t size = bytes_of_type(call.type);
  const std::int64_t of_a = p.batch * p.m * p.k * size;
  const std::int64_t of_b = p.batch * p.k * p.n * size;
  const std::int64_t of_c = p.batch * p.m * p.n * std::max<std::int64_t>(size, 2);
  Arena& input = device.input(call.type);
  Arena& output = device.output();
  input.need(of_a);
  input.need(of_b);
  output.need(of_c);
  return [=, &blas, &input, &output](cudaStream_t stream) {
    // Products of numbers from [-1, 1) are as large as these again, however many follow each other.
    const float alpha = std::sqrt(3.0F / static_cast<float>(std::max<std::int64_t>(p.k, 1)));
    const float beta = p.adds ? 1 : 0;
    void* const c = output.take(of_c);
    BENCHMARK_CHECK_BLAS(cublasLtMatmul(blas.handle, plan->operation, &alpha, input.take(of_b), plan->b,
                                        input.take(of_a), plan->a, &beta, c, plan->c, c, plan->c,
                                        &plan->chosen.algo, blas.workspace.as<void>(), kWorkspace, stream));
  };
}

}  // namespace benchmark
