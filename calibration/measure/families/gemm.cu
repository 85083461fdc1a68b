#include "calibration/measure/families/gemm.cuh"

#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/product.cuh"

namespace lockstep {

namespace {

cudaDataType cuda_type(const std::string& type) {
  return type == "fp16"   ? CUDA_R_16F
         : type == "bf16" ? CUDA_R_16BF
         : type == "fp8"  ? CUDA_R_8F_E4M3
                          : CUDA_R_32F;
}

Launch blas_launch(const Gpu& gpu, const Product& p) {
  return [&gpu, p](cudaStream_t stream) {
    const float alpha = 1;
    const float beta = 0;
    LOCKSTEP_CHECK(cublasSetStream(gpu.blas(), stream));
    // Setting a stream takes the workspace away.
    LOCKSTEP_CHECK(cublasSetWorkspace(gpu.blas(), gpu.workspace()->as<void>(), gpu.workspace()->bytes()));
    const auto n = static_cast<int>(p.n);
    const auto m = static_cast<int>(p.m);
    const auto k = static_cast<int>(p.k);
    const auto ldb = static_cast<int>(p.b_leading);
    const auto lda = static_cast<int>(p.a_leading);
    if (p.batch == 1) {
      LOCKSTEP_CHECK(cublasGemmEx(gpu.blas(), p.b_operation, p.a_operation, n, m, k, &alpha, p.b->as<void>(),
                                  p.type, ldb, p.a->as<void>(), p.type, lda, &beta, p.c->as<void>(), p.type,
                                  n, p.compute, CUBLAS_GEMM_DEFAULT));
    } else {
      LOCKSTEP_CHECK(cublasGemmStridedBatchedEx(
          gpu.blas(), p.b_operation, p.a_operation, n, m, k, &alpha, p.b->as<void>(), p.type, ldb, p.k * p.n,
          p.a->as<void>(), p.type, lda, p.m * p.k, &beta, p.c->as<void>(), p.type, n, p.m * p.n,
          static_cast<int>(p.batch), p.compute, CUBLAS_GEMM_DEFAULT));
    }
  };
}

}  // namespace

Product product_of(const GridPoint& point) {
  const std::string& type = point.text("type");
  const std::string& layout = point.text("layout");
  Product p{};
  p.m = point.integer("m");
  p.n = point.integer("n");
  p.k = point.integer("k");
  p.batch = point.integer("batch");
  const bool a_transposed = layout.at(0) == 't';
  const bool b_transposed = layout.at(1) == 't';
  p.a_operation = a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  p.b_operation = b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  p.a_leading = a_transposed ? p.m : p.k;
  p.b_leading = b_transposed ? p.k : p.n;
  p.type = cuda_type(type);
  p.compute = type == "tf32" ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  p.a = random_numbers(type, p.batch * p.m * p.k, 1);
  p.b = random_numbers(type, p.batch * p.k * p.n, 2);
  p.c = random_numbers(type == "fp8" ? "bf16" : type, p.batch * p.m * p.n, 3);
  return p;
}

Launch gemm_launch(const Gpu& gpu, const Product& product, const std::string& library) {
  return library == "cublaslt" ? blas_lt_launch(gpu, product) : blas_launch(gpu, product);
}

Launch gemm_launch(const Gpu& gpu, const GridPoint& point) {
  return gemm_launch(gpu, product_of(point), point.text("library"));
}

std::unique_ptr<Experiment> gemm_experiment(const Gpu& gpu, const GridPoint& point) {
  const Cache cache = point.text("cache") == "cold" ? Cache::Cold : Cache::Warm;
  return gpu_experiment(gpu, cache, gemm_launch(gpu, point));
}

}  // namespace lockstep
