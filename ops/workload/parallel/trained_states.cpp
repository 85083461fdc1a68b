#include "ops/workload/parallel/trained_states.hpp"

namespace lockstep {

void allocate_trained(const LayerScope& scope, MemoryLedger& host, const TrainedStates& states) {
  const ParallelPlan& plan = scope.plan;
  const Sharding sharding = plan.spec.sharding;
  const auto kept = [&](Sharding from, double bytes) {
    const int ranks = plan.replication(states.expert).shard;
    return Bytes{states.elements * bytes / (sharding >= from ? ranks : 1)};
  };
  const bool mixed = is_mixed(scope.step.precision()), on_host = plan.spec.offload != Offload::None;
  const double z = size_of(states.type).in_base_units();
  const double gradient = plan.has_fp32_gradients() ? 4 : z;
  // FSDP's shares are those that the optimizer works on; what computes is gathered and cast.
  const bool is_master = plan.gathers(states.expert) && mixed && !on_host && plan.casts_shares();
  const DataType of_moments = scope.step.types().optimizer();
  const bool has_masters = (mixed && states.type != of_moments) || on_host || is_master;
  const double moments = 2 * size_of(of_moments).in_base_units();
  const double of_optimizer = moments + (has_masters ? 4 : 0), without = is_master ? 4 : 0;
  MemoryLedger& of_states = on_host ? host : scope.memory;
  const bool moves = plan.spec.offload == Offload::Parameters;  // FP32 parameters are the master copy there
  MemoryLedger& of_parameters = moves ? host : scope.memory;
  of_parameters.allocate(MemoryUse::Parameters,
                         kept(Sharding::Zero3, is_master || (moves && !mixed) ? 0 : z));
  of_states.allocate(MemoryUse::Optimizer, kept(Sharding::Zero1, states.optimizes ? of_optimizer : without));
  if (on_host) {
    host.allocate(MemoryUse::Gradients, kept(Sharding::Zero1, gradient));
  }
  if (!on_host || sharding == Sharding::Zero1) {
    const bool whole = !plan.spec.shares_each_micro_batch() && plan.micro_batches > 1;
    const double share = plan.has_fp32_gradient_shares() ? 4 : z;
    const double sum = plan.spec.zero3_implementation == Zero3Implementation::Fsdp ? z : gradient;
    scope.memory.allocate(MemoryUse::Gradients,
                          whole ? Bytes{states.elements * sum} : kept(Sharding::Zero2, share));
  }
}

Bytes passing_gradients(const LayerScope& scope, std::int64_t elements) {
  const TransformerPlanSpec& spec = scope.plan.spec;
  if (spec.sharding != Sharding::Zero3 || spec.offload != Offload::None) {
    return Bytes{0};
  }
  const bool keeps_whole = !spec.reduce_each_micro_batch && scope.plan.micro_batches > 1;
  const Bytes product = keeps_whole ? Bytes{0} : size_of(scope.storage());
  const bool are_copied = spec.copies() != Zero3Implementation::None;
  const Bytes copy =
      are_copied ? size_of(scope.plan.has_fp32_gradients() ? DataType::FP32 : scope.storage()) : Bytes{0};
  return (product + copy) * static_cast<double>(elements);
}

}  // namespace lockstep
