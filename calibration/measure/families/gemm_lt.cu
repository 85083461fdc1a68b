#include <memory>

#include "calibration/measure/families/product.cuh"

namespace lockstep {
namespace {

/// The descriptions that cublasLtMatmul takes, destroyed together.
struct MatmulPlan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t b = nullptr, a = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};

  MatmulPlan() = default;
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;
  ~MatmulPlan() {
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
    for (cublasLtMatrixLayout_t layout : {b, a, c}) {
      static_cast<void>(cublasLtMatrixLayoutDestroy(layout));
    }
    static_cast<void>(cublasLtMatmulDescDestroy(operation));
  }
};

template <class T>
void set_operation(MatmulPlan& plan, cublasLtMatmulDescAttributes_t attribute, T value) {
  LOCKSTEP_CHECK(cublasLtMatmulDescSetAttribute(plan.operation, attribute, &value, sizeof value));
}

/// Rows and columns as stored, columns first.
cublasLtMatrixLayout_t layout_of(cudaDataType type, cublasOperation_t operation, std::int64_t rows,
                                 std::int64_t columns, std::int64_t leading) {
  cublasLtMatrixLayout_t layout = nullptr;
  const bool transposed = operation == CUBLAS_OP_T;
  LOCKSTEP_CHECK(
      cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(transposed ? columns : rows),
                                 static_cast<std::uint64_t>(transposed ? rows : columns), leading));
  return layout;
}

std::shared_ptr<MatmulPlan> plan_of(const Gpu& gpu, const Product& p) {
  auto plan = std::make_shared<MatmulPlan>();
  LOCKSTEP_CHECK(cublasLtMatmulDescCreate(&plan->operation, p.compute, CUDA_R_32F));
  set_operation(*plan, CUBLASLT_MATMUL_DESC_TRANSA, p.b_operation);
  set_operation(*plan, CUBLASLT_MATMUL_DESC_TRANSB, p.a_operation);
  const cudaDataType result = p.type == CUDA_R_8F_E4M3 ? CUDA_R_16BF : p.type;
  plan->b = layout_of(p.type, p.b_operation, p.n, p.k, p.b_leading);
  plan->a = layout_of(p.type, p.a_operation, p.k, p.m, p.a_leading);
  plan->c = layout_of(result, CUBLAS_OP_N, p.n, p.m, p.n);
  LOCKSTEP_CHECK(cublasLtMatmulPreferenceCreate(&plan->preference));
  const std::size_t workspace = gpu.workspace()->bytes();
  LOCKSTEP_CHECK(cublasLtMatmulPreferenceSetAttribute(
      plan->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  int found = 0;
  LOCKSTEP_CHECK(cublasLtMatmulAlgoGetHeuristic(gpu.blas_lt(), plan->operation, plan->b, plan->a, plan->c,
                                                plan->c, plan->preference, 1, &plan->chosen, &found));
  if (found == 0) {
    fail("no algorithm for this product", "cublasLtMatmulAlgoGetHeuristic", __FILE__, __LINE__);
  }
  return plan;
}

}  // namespace

Launch blas_lt_launch(const Gpu& gpu, const Product& product) {
  return [&gpu, p = product, plan = plan_of(gpu, product)](cudaStream_t stream) {
    const float alpha = 1;
    const float beta = 0;
    LOCKSTEP_CHECK(cublasLtMatmul(gpu.blas_lt(), plan->operation, &alpha, p.b->as<void>(), plan->b,
                                  p.a->as<void>(), plan->a, &beta, p.c->as<void>(), plan->c, p.c->as<void>(),
                                  plan->c, &plan->chosen.algo, gpu.workspace()->as<void>(),
                                  gpu.workspace()->bytes(), stream));
  };
}

}  // namespace lockstep
