#include "ops/workload/parallel/token_permutation.hpp"

#include <algorithm>
#include <cmath>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

bool is_fused(const LayerScope& scope) {
  return scope.model.experts->fused_permutation;
}

/// One kernel of a thread block for each token.
KernelCall fused(const LayerScope& scope, const char* name, kernels::Passes passes) {
  return {name, scope.storage(),
          Pointwise{.elements = scope.sizes.elements(),
                    .reads = passes.reads,
                    .writes = passes.writes,
                    .flops = passes.flops}};
}

/// Copies over tokens.
double ratio(const LayerScope& scope, double copies) {
  return copies / static_cast<double>(scope.sizes.elements());
}

/// Rows of copies to, or from, those of their tokens: index_select, an element a thread.
KernelCall gather(const LayerScope& scope, double copies) {
  return kernels::strided_copy(std::llround(copies), scope.storage());
}

KernelCall zeros(const LayerScope& scope) {
  return kernels::fill(scope.sizes.elements(), scope.storage());
}

/// Copies added to the rows of their tokens.
KernelCall scatter_add(const LayerScope& scope, double copies) {
  return kernels::elementwise("scatter_add", std::llround(copies), scope.storage(),
                              {.reads = 2, .writes = 1, .flops = 1});
}

/// Copies times the probability of their token and expert.
KernelCall weigh(const LayerScope& scope, double copies) {
  return kernels::elementwise("mul", std::llround(copies), scope.storage(),
                              {.reads = 1, .writes = 1, .flops = 1});
}

}  // namespace

void permute_forward(const LayerScope& scope, double copies) {
  scope.step.op("permute", {is_fused(scope) ? fused(scope, "permute_kernel",
                                                    {.reads = 1, .writes = ratio(scope, copies), .flops = 0})
                                            : gather(scope, copies)});
}

void permute_backward(const LayerScope& scope, double copies) {
  const double each = ratio(scope, copies);
  if (is_fused(scope)) {
    scope.step.op("permute_backward",
                  {fused(scope, "unpermute_kernel", {.reads = each, .writes = 1, .flops = each})});
  } else {
    scope.step.op("permute_backward", {zeros(scope), scatter_add(scope, copies)});
  }
}

void unpermute_forward(const LayerScope& scope, double copies) {
  const double each = ratio(scope, copies);
  if (is_fused(scope)) {
    scope.step.op("unpermute",
                  {fused(scope, "unpermute_kernel", {.reads = each, .writes = 1, .flops = 2 * each})});
  } else {
    scope.step.op("unpermute", {weigh(scope, copies), zeros(scope), scatter_add(scope, copies)});
  }
}

void unpermute_backward(const LayerScope& scope, double copies) {
  const double each = ratio(scope, copies);
  if (is_fused(scope)) {
    scope.step.op("unpermute_backward", {fused(scope, "unpermute_bwd_kernel",
                                               {.reads = 1 + each, .writes = each, .flops = 3 * each})});
    return;
  }
  const std::int64_t rows =
      std::max<std::int64_t>(1, std::llround(copies / static_cast<double>(scope.sizes.hidden)));
  scope.step.op(
      "unpermute_backward",
      {gather(scope, copies), weigh(scope, copies), kernels::mul(std::llround(copies), scope.storage()),
       kernels::reduce("sum", {.rows = rows, .columns = scope.sizes.hidden}, scope.storage())});
}

}  // namespace lockstep
