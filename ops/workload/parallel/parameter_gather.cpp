#include "ops/workload/parallel/parameter_gather.hpp"

#include <algorithm>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

bool ParameterGather::is_needed() const {
  return scope_.plan.gathers(false) || scope_.plan.gathers(true);
}

/// Parts of the unit that are gathered, and whether they are experts'.
std::vector<std::pair<GatherPart, bool>> ParameterGather::parts(std::size_t unit) const {
  std::vector<std::pair<GatherPart, bool>> parts;
  for (const bool expert : {false, true}) {
    const GatherPart& part = expert ? units_[unit].expert : units_[unit].dense;
    if (part.elements > 0 && scope_.plan.gathers(expert)) {
      parts.emplace_back(part, expert);
    }
  }
  return parts;
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
  std::vector<EventId>& ready = ready_[unit];
  for (const auto& [part, expert] : parts(unit)) {
    ready.push_back(gather(part, scope_.plan.replication(expert)));
    scope_.memory.allocate(MemoryUse::Parameters, part.size);
  }
}

/// @return the event of its end
EventId ParameterGather::gather(const GatherPart& part, const Replication& of) {
  const bool is_deepspeed = scope_.plan.spec.zero3_implementation == Zero3Implementation::DeepSpeed;
  if (!is_offloaded() && !is_deepspeed) {
    copy_in(part, of.shard);
    return gather_shares(part.size, of);
  }
  const EventId before = scope_.step.program().event();  // as early as a gather would start
  scope_.step.program().record(scope_.step.current(), before);
  const StreamScope stream{scope_.step, is_offloaded() ? "parameters to gpu" : "gathered parameters"};
  scope_.step.wait_for(before);
  const Bytes share = part.size / static_cast<double>(of.shard);
  if (is_offloaded()) {
    scope_.step.op("aten::copy_", {kernels::copy_to_device(share, true)});
  } else {
    scope_.step.op("aten::cat", {kernels::copy_on_device(share)});
  }
  const EventId gathered = gather_shares(part.size, of);
  return is_deepspeed ? put_together(part, of, gathered) : gathered;
}

/// DeepSpeed gathers several parameters together, ahead of their use, rank by rank; on the stream of its
/// gathers the parts of each are then put together (runtime/zero/partition_parameters.py,
/// all_gather_coalesced, AllGatherCoalescedHandle.wait). @return the event of its end
EventId ParameterGather::put_together(const GatherPart& part, const Replication& of, EventId gathered) {
  scope_.step.wait_for(gathered);
  scope_.step.op("aten::cat", {kernels::concat(part.elements, of.shard, scope_.storage())});
  const EventId end = scope_.step.program().event();
  scope_.step.program().record(scope_.step.current(), end);
  return end;
}

/// After what the current stream holds. @return the event of its end
EventId ParameterGather::gather_shares(Bytes size, const Replication& of) {
  if (of.shard == 1) {
    const EventId end = scope_.step.program().event();
    scope_.step.program().record(scope_.step.current(), end);
    return end;
  }
  scope_.step.program().begin("c10d::_allgather_base_");
  const EventId end = scope_.step.communicate(
      of.shard_group(), "nccl parameters",
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
  for (const EventId end : ready_.at(unit)) {
    scope_.step.wait_for(end);
  }
  copy_out(unit);
}

/// PyTorch's casts of this rank's FP32 shares. They have a stream of their own there; here they are written
/// in the order of computation, whose memory they share.
///   fsdp   that of the flat parameter (torch/distributed/fsdp/_flat_param.py, _use_low_precision_shard)
///   fsdp2  those of a layer, which are then copied into the gather's buffer (_fully_shard/
///          _fsdp_collectives.py, foreach_all_gather); torchao's are scaled, clamped and cast operator by
///          operator (float8/fsdp_utils.py, fsdp_pre_all_gather)
void ParameterGather::copy_in(const GatherPart& part, int ranks) {
  if (!scope_.plan.spec.is_fsdp()) {
    return;
  }
  const bool casts = scope_.plan.casts_shares() && is_mixed(scope_.step.precision());
  const auto share = [&](std::int64_t elements) { return std::max<std::int64_t>(1, elements / ranks); };
  if (scope_.plan.spec.zero3_implementation == Zero3Implementation::Fsdp) {
    if (!casts) {
      return;
    }
    scope_.step.op("aten::copy_",
                   {kernels::cast(share(part.elements - part.frozen), DataType::FP32, scope_.storage())});
    return;
  }
  const std::int64_t wide = share(part.elements - part.narrow - part.frozen);
  const double narrower = size_of(scope_.storage()) / size_of(DataType::FP32);
  const double byte = size_of(DataType::FP8) / size_of(DataType::FP32);
  scope_.step.program().begin("fsdp::all_gather_copy_in");
  if (part.narrow > 0) {
    scope_.step.launch(kernels::elementwise("mul", share(part.narrow), DataType::FP32, {}));
    scope_.step.launch(kernels::elementwise("clamp", share(part.narrow), DataType::FP32, {}));
    scope_.step.launch(
        kernels::elementwise("cast_to_fp8", share(part.narrow), DataType::FP32, {.writes = byte}));
  }
  if (casts) {
    scope_.step.launch({"multi_tensor_apply_kernel<copy>", DataType::FP32,
                        Pointwise{.elements = wide, .reads = 1, .writes = narrower}});
  }
  scope_.step.launch(kernels::copy_on_device(part.size / static_cast<double>(ranks)));
  scope_.step.program().end();
}

/// fully_shard gathers a layer's parameters side by side and then copies each to where it belongs
/// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, split_with_sizes_copy).
void ParameterGather::copy_out(std::size_t unit) {
  if (scope_.plan.spec.zero3_implementation != Zero3Implementation::Fsdp2 || !copied_.insert(unit).second) {
    return;
  }
  for (const auto& [part, expert] : parts(unit)) {
    const double narrower = part.size / scope_.bytes(part.elements);
    scope_.step.op("fsdp::split_with_sizes_copy",
                   {kernels::elementwise("split_with_sizes_copy", part.elements, scope_.storage(),
                                         {.reads = narrower, .writes = narrower})});
  }
}

void ParameterGather::done(std::size_t unit, bool drops) {
  if (is_needed() && drops && ready_.erase(unit) > 0) {
    copied_.erase(unit);
    for (const auto& [part, expert] : parts(unit)) {
      scope_.memory.release(MemoryUse::Parameters, part.size);
    }
  }
}

}  // namespace lockstep
