#include "ops/workload/parallel/token_permutation.hpp"

#include <algorithm>
#include <cmath>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/nonzero.hpp"
#include "ops/workload/layers/sorting.hpp"

namespace lockstep {
namespace {

constexpr DataType kIndex = DataType::INT64;

bool is_fused(const LayerScope& scope) {
  return scope.model.experts->fused_permutation;
}

bool weighs_activation(const LayerScope& scope) {
  return scope.model.experts->weighted_activation;
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

/// A token is read for its copies.
kernels::Passes copied(const LayerScope& scope, double copies) {
  return {.reads = 1, .writes = ratio(scope, copies), .flops = 0};
}

/// Copies are read for their sum. @param flops of a copy's element
kernels::Passes summed(const LayerScope& scope, double copies, double flops) {
  const double each = ratio(scope, copies);
  return {.reads = each, .writes = 1, .flops = flops * each};
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

std::int64_t rows_of(const LayerScope& scope, double copies) {
  return std::max<std::int64_t>(1, std::llround(copies / static_cast<double>(scope.sizes.hidden)));
}

/// Elements of the map [tokens, experts].
std::int64_t places(const LayerScope& scope) {
  return scope.sizes.rows * scope.model.experts->count;
}

KernelCall of_rows(const char* name, std::int64_t rows, DataType type) {
  return kernels::elementwise(name, rows, type, {});
}

/// Numbers chosen by the map: their count is waited for.
void masked_select(const LayerScope& scope, std::int64_t found, DataType type) {
  scope.step.program().begin("aten::masked_select");
  nonzero(scope.step, places(scope), found);
  scope.step.launch(kernels::by_offsets("index", found, type, {}));
  scope.step.program().end();
}

/// Finds the row of its token for each copy (moe_utils.py, permute; the row map of Transformer Engine's
/// permutation.py, three kernels).
void find_rows(const LayerScope& scope, std::int64_t rows) {
  if (is_fused(scope)) {
    for (const char* const pass : {"row_id_map_pass_1", "row_id_map_pass_2", "row_id_map_pass_3"}) {
      scope.step.op(pass, {of_rows(pass, places(scope), DataType::INT32)});
    }
    return;
  }
  if (scope.model.experts->are_padded()) {
    scope.step.op("aten::to", {kernels::cast(places(scope), DataType::BOOL, DataType::UINT8)});
  }
  scope.step.op("aten::contiguous", {kernels::strided_copy(places(scope), DataType::UINT8)});
  if (scope.model.experts->are_padded()) {
    scope.step.program().begin("aten::argsort");  // ones of each expert in front
    for (const KernelCall& kernel :
         kernels::argsort(scope.model.experts->count, scope.sizes.rows, DataType::UINT8)) {
      scope.step.launch(kernel);
    }
    scope.step.program().end();
    scope.step.op("aten::contiguous", {kernels::strided_copy(rows, kIndex)});
  } else {
    scope.step.op("aten::arange",
                  {of_rows("elementwise_kernel_with_index<arange>", scope.sizes.rows, kIndex)});
    masked_select(scope, rows, kIndex);
  }
}

/// The router's probability of each copy, by PyTorch's operators (moe_utils.py, unpermute).
void pick_probabilities(const LayerScope& scope, std::int64_t rows) {
  scope.step.op("aten::contiguous", {kernels::strided_copy(places(scope), scope.storage())});
  if (!scope.model.experts->are_padded()) {
    scope.step.op("aten::contiguous", {kernels::strided_copy(places(scope), DataType::BOOL)});
    masked_select(scope, rows, scope.storage());
    return;
  }
  scope.step.op("aten::arange",
                {of_rows("elementwise_kernel_with_index<arange>", scope.model.experts->count, kIndex)});
  scope.step.op("aten::mul", {of_rows("mul", scope.model.experts->count, kIndex)});
  scope.step.op("aten::add", {kernels::by_offsets("add", rows, kIndex, {})});
  scope.step.op("aten::index_select", {kernels::by_offsets("index_select", rows, scope.storage(), {})});
}

/// Zeros, and the gradient of each copy's probability in its place.
void place_probabilities(const LayerScope& scope, std::int64_t rows) {
  if (!scope.model.experts->are_padded()) {  // which place is the how manyth, and its gradient
    scope.step.op(
        "MaskedSelectBackward0",
        {kernels::fill(places(scope), scope.storage()), of_rows("DeviceScanKernel", places(scope), kIndex),
         kernels::by_offsets("masked_scatter", places(scope), scope.storage(), {.reads = 2})});
    scope.step.op("CloneBackward0");
    return;
  }
  scope.step.op("IndexSelectBackward0",
                {kernels::fill(places(scope), scope.storage()), kernels::index_add(rows, scope.storage())});
  scope.step.op("CloneBackward0");
}

}  // namespace

void permute_forward(const LayerScope& scope, double copies) {
  find_rows(scope, rows_of(scope, copies));
  if (is_fused(scope)) {
    scope.step.op("permute", {fused(scope, "permute_kernel", copied(scope, copies))});
    return;
  }
  if (weighs_activation(scope)) {
    pick_probabilities(scope, rows_of(scope, copies));
  }
  scope.step.op("permute", {gather(scope, copies)});
}

void permute_backward(const LayerScope& scope, double copies) {
  if (is_fused(scope)) {
    scope.step.op("permute_backward", {fused(scope, "unpermute_kernel", summed(scope, copies, 1))});
    return;
  }
  scope.step.op("permute_backward", {zeros(scope), scatter_add(scope, copies)});
  if (weighs_activation(scope)) {
    place_probabilities(scope, rows_of(scope, copies));
  }
}

void unpermute_forward(const LayerScope& scope, double copies) {
  const bool weighs = !weighs_activation(scope);
  if (is_fused(scope)) {
    scope.step.op("unpermute", {fused(scope, "unpermute_kernel", summed(scope, copies, weighs ? 2 : 1))});
  } else if (weighs) {
    pick_probabilities(scope, rows_of(scope, copies));
    scope.step.op("unpermute", {weigh(scope, copies), zeros(scope), scatter_add(scope, copies)});
  } else {
    scope.step.op("unpermute", {zeros(scope), scatter_add(scope, copies)});
  }
}

void unpermute_backward(const LayerScope& scope, double copies) {
  const double each = ratio(scope, copies);
  if (weighs_activation(scope)) {
    scope.step.op(
        "unpermute_backward",
        {is_fused(scope) ? fused(scope, "permute_kernel", copied(scope, copies)) : gather(scope, copies)});
    return;
  }
  if (is_fused(scope)) {
    scope.step.op("unpermute_backward", {fused(scope, "unpermute_bwd_kernel",
                                               {.reads = 1 + each, .writes = each, .flops = 3 * each})});
    return;
  }
  scope.step.op(
      "unpermute_backward",
      {gather(scope, copies), weigh(scope, copies), kernels::mul(std::llround(copies), scope.storage()),
       kernels::reduce("sum", {.rows = rows_of(scope, copies), .columns = scope.sizes.hidden},
                       scope.storage())});
  place_probabilities(scope, rows_of(scope, copies));
}

}  // namespace lockstep
