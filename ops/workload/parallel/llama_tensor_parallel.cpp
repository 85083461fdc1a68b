#include "ops/workload/parallel/llama_tensor_parallel.hpp"

namespace lockstep {
namespace {

double all_elements(const LayerScope& scope) {
  return static_cast<double>(scope.sizes.tokens * scope.sizes.hidden);
}

}  // namespace

void gather_tokens(const LayerScope& scope, DataType type) {
  scope.communicate(CollectiveKind::AllGather, "tp", scope.plan.spec.tensor,
                    size_of(type) * all_elements(scope));
}

void scatter_sums(const LayerScope& scope) {
  scope.communicate(CollectiveKind::ReduceScatter, "tp", scope.plan.spec.tensor,
                    size_of(scope.storage()) * all_elements(scope));
}

void sum_gain_gradient(const LayerScope& scope, std::int64_t columns) {
  scope.communicate(CollectiveKind::AllReduce, "tp", scope.plan.spec.tensor, scope.bytes(columns));
}

}  // namespace lockstep
