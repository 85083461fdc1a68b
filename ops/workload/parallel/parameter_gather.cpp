#include "ops/workload/parallel/parameter_gather.hpp"

#include <algorithm>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

bool ParameterGather::is_needed() const {
  return scope_.plan.spec.sharding == Sharding::Zero3 && (scope_.plan.shard > 1 || is_offloaded());
}

bool ParameterGather::is_offloaded() const {
  return scope_.plan.spec.offload == Offload::Parameters;
}

void ParameterGather::plan(std::vector<std::size_t> order) {
  order_ = std::move(order);
  next_ = used_ = 0;
}

void ParameterGather::gather(std::size_t unit) {
  if (ready_.contains(unit)) {
    return;  // kept since forward
  }
  const Bytes size = units_[unit].size;
  if (is_offloaded()) {
    const EventId before = scope_.step.program().event();  // as early as a gather would start
    scope_.step.program().record(scope_.step.current(), before);
    const StreamScope stream{scope_.step, "parameters to gpu"};
    scope_.step.wait_for(before);
    scope_.step.op("aten::copy_",
                   {kernels::copy_to_device(size / static_cast<double>(scope_.plan.shard), true)});
    ready_[unit] = gather_shares(size);
  } else {
    copy_in(units_[unit]);
    ready_[unit] = gather_shares(size);
  }
  scope_.memory.allocate(MemoryUse::Parameters, size);
}

/// After what the current stream holds. @return the event of its end
EventId ParameterGather::gather_shares(Bytes size) {
  if (scope_.plan.shard == 1) {
    const EventId end = scope_.step.program().event();
    scope_.step.program().record(scope_.step.current(), end);
    return end;
  }
  scope_.step.program().begin("c10d::_allgather_base_");
  const bool hybrid = scope_.plan.shard < scope_.plan.replicas();
  const EventId end = scope_.step.communicate(
      hybrid ? "shard" : "dp", "nccl parameters",
      {.kind = CollectiveKind::AllGather, .type = scope_.storage(), .size = size, .send_bytes = {}});
  scope_.step.program().end();
  return end;
}

void ParameterGather::use(std::size_t unit) {
  if (!is_needed()) {
    return;
  }
  const auto ahead = static_cast<std::size_t>(scope_.plan.spec.prefetch);
  for (++used_; next_ < std::min(order_.size(), used_ + ahead); ++next_) {
    gather(order_[next_]);
  }
  scope_.step.wait_for(ready_.at(unit));
  copy_out(unit);
}

/// fully_shard casts this rank's FP32 shares and copies them into the gather's buffer
/// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_all_gather); torchao's shares are
/// scaled, clamped and cast operator by operator (float8/fsdp_utils.py, fsdp_pre_all_gather). They have a
/// stream of their own there; here they are written in the order of computation, whose memory they share.
void ParameterGather::copy_in(const GatherUnit& unit) {
  if (scope_.plan.spec.shard_copies != ShardCopies::Fsdp2 || !is_mixed(scope_.step.precision())) {
    return;
  }
  const auto share = [&](std::int64_t elements) {
    return std::max<std::int64_t>(1, elements / scope_.plan.shard);
  };
  const std::int64_t wide = share(unit.elements - unit.narrow);
  const double part = size_of(scope_.storage()) / size_of(DataType::FP32);
  const double byte = size_of(DataType::FP8) / size_of(DataType::FP32);
  scope_.step.program().begin("fsdp::all_gather_copy_in");
  if (unit.narrow > 0) {
    scope_.step.launch(kernels::elementwise("mul", share(unit.narrow), DataType::FP32, {}));
    scope_.step.launch(kernels::elementwise("clamp", share(unit.narrow), DataType::FP32, {}));
    scope_.step.launch(
        kernels::elementwise("cast_to_fp8", share(unit.narrow), DataType::FP32, {.writes = byte}));
  }
  scope_.step.launch({"multi_tensor_apply_kernel<copy>", DataType::FP32,
                      Pointwise{.elements = wide, .reads = 1, .writes = part}});
  scope_.step.launch(kernels::copy_on_device(unit.size / static_cast<double>(scope_.plan.shard)));
  scope_.step.program().end();
}

/// fully_shard gathers a layer's parameters side by side and then copies each to where it belongs
/// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, split_with_sizes_copy).
void ParameterGather::copy_out(std::size_t unit) {
  if (scope_.plan.spec.shard_copies == ShardCopies::Fsdp2 && copied_.insert(unit).second) {
    const double part = units_[unit].size / scope_.bytes(units_[unit].elements);
    scope_.step.op("fsdp::split_with_sizes_copy",
                   {kernels::elementwise("split_with_sizes_copy", units_[unit].elements, scope_.storage(),
                                         {.reads = part, .writes = part})});
  }
}

void ParameterGather::done(std::size_t unit, bool drops) {
  if (is_needed() && drops && ready_.erase(unit) > 0) {
    copied_.erase(unit);
    scope_.memory.release(MemoryUse::Parameters, units_[unit].size);
  }
}

}  // namespace lockstep
