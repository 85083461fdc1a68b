#include "ops/workload/parallel/gradient_reduction.hpp"

#include <utility>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kShares = "gradient shares";

}  // namespace

void GradientReduction::begin(bool first, bool last) {
  const bool shares = plan_.spec.shares_each_micro_batch();
  first_ = first || shares;
  adds_shares_ = !first && shares;
  reduces_ = last || shares;
  host_.begin(first, last);
}

DataType GradientReduction::type() const {
  return plan_.has_fp32_gradients() ? DataType::FP32 : storage_type(step_.precision());
}

/// FullyShardedDataParallel adds gradients up in what products leave, and changes the type of all of a layer
/// together when they are reduced.
DataType GradientReduction::type_of_sums() const {
  return plan_.spec.zero3_implementation == Zero3Implementation::Fsdp ? storage_type(step_.precision())
                                                                      : type();
}

void GradientReduction::accumulate(std::int64_t elements, bool expert) {
  const DataType product = storage_type(step_.precision()), sums = type_of_sums();
  const bool converts = sums != product;
  const bool adds = !first_ || rules_.sums_in_buffer;
  if (adds || converts) {  // main_grad += grad, in the type of gradients
    const double reads = adds ? 1 : 0;
    step_.op("aten::add_",
             {kernels::elementwise("add", elements, sums,
                                   {.reads = reads + size_of(product) / size_of(sums), .writes = 1})});
  }
  ready(elements, expert);
}

void GradientReduction::ready(std::int64_t elements, bool expert) {
  if (!reduces_ || (!is_reduced(expert) && !is_scaled(expert) && !host_.is_used())) {
    return;
  }
  host_.hold(static_cast<double>(elements) * size_of(type()));
  Bucket& bucket = expert ? expert_ : dense_;
  bucket.open += elements;
  ++bucket.pieces;
  const bool by_size = plan_.spec.sharding != Sharding::Zero3 && plan_.spec.overlap_gradients;
  if (by_size && static_cast<double>(bucket.open) * size_of(type()) >= bucket_) {
    reduce(bucket);
  }
}

void GradientReduction::layer_done() {
  if (plan_.spec.sharding == Sharding::Zero3) {
    reduce(dense_);
    reduce(expert_);
  }
}

void GradientReduction::put_off() {
  if (plan_.spec.is_fsdp()) {
    put_off_ = std::exchange(dense_, Bucket{});
  }
}

void GradientReduction::pass_done() {
  dense_.open += put_off_.open;
  dense_.pieces += put_off_.pieces;
  put_off_ = {};
  layer_done();
}

/// DeepSpeed's copies have a stream of their own with the collective (runtime/zero/stage3.py,
/// reduce_and_partition_stream); PyTorch's are written in the order of computation.
void GradientReduction::reduce(Bucket& bucket) {
  if (bucket.open == 0) {
    return;
  }
  if (plan_.spec.zero3_implementation != Zero3Implementation::DeepSpeed) {
    reduce_here(bucket);
    return;
  }
  const EventId ready = step_.program().event();
  step_.program().record(step_.current(), ready);
  const StreamScope stream{step_, kShares};
  step_.wait_for(ready);
  reduce_here(bucket);
}

void GradientReduction::reduce_here(Bucket& bucket) {
  const std::int64_t all = bucket.open;
  const auto elements = static_cast<double>(all);
  const std::int64_t pieces = bucket.pieces;
  if (is_reduced(bucket.expert)) {
    copy_shards(all, pieces);
  }
  if (is_scaled(bucket.expert)) {
    step_.op("aten::mul_", {kernels::scale(bucket.open, type())});
  }
  bucket.open = bucket.pieces = 0;
  if (is_reduced(bucket.expert)) {
    communicate(bucket, elements * size_of(type()));
    if (!plan_.spec.reduce_scatter) {
      copy_back(all, pieces);
    }
  } else {
    ends_.push_back(step_.program().event());
    step_.program().record(step_.current(), ends_.back());
  }
  if (host_.is_used()) {
    const int ranks = plan_.replication(bucket.expert).shard;
    host_.leave({elements * size_of(type()), elements / ranks, ends_.back()});
  } else if (is_reduced(bucket.expert)) {
    keep_shares(all / plan_.replication(bucket.expert).shard);
  }
}

/// DeepSpeed's buffered_allreduce_fallback (runtime/engine.py), on the stream that computes: each gradient is
/// copied from the flat one that copy_shards() made.
void GradientReduction::copy_back(std::int64_t elements, std::int64_t pieces) {
  step_.wait_for(ends_.back());
  step_.op("aten::copy_", {kernels::concat(elements, pieces, type())});
  ends_.back() = step_.program().event();
  step_.program().record(step_.current(), ends_.back());
}

/// A rank's share of what was reduced last. PyTorch's FSDP divides it by what it was not divided by before
/// (FullyShardedDataParallel) and makes it FP32, or of 16 bits, as its parameters are
/// (torch/distributed/fsdp/ _runtime_utils.py, _reduce_grad; _fully_shard/_fsdp_collectives.py,
/// foreach_reduce). It is added to that of the micro-batches before, in FP32 or where DeepSpeed keeps it, who
/// copies the first ones (runtime/zero/stage3.py, partition_grads). Behind the collective, beside what
/// computes.
void GradientReduction::keep_shares(std::int64_t elements) {
  const Zero3Implementation copies = plan_.spec.copies();
  const DataType of_fsdp = plan_.pure ? storage_type(step_.precision()) : DataType::FP32;
  const bool casts = plan_.spec.is_fsdp() && type() != of_fsdp;
  const bool is_copied = copies == Zero3Implementation::DeepSpeed,
             is_divided = copies == Zero3Implementation::Fsdp;
  if (elements == 0 || (!casts && !adds_shares_ && !is_copied && !is_divided)) {
    return;
  }
  const DataType kept = casts ? of_fsdp : type();
  const StreamScope stream{step_, kShares};
  step_.wait_for(ends_.back());
  if (is_divided) {
    step_.op("aten::div_", {kernels::scale(elements, type())});
  }
  if (casts) {
    step_.op("aten::to", {kernels::cast(elements, type(), kept)});
  }
  if (adds_shares_) {
    step_.op("aten::add_", {kernels::add(elements, kept)});
  } else if (is_copied) {
    step_.op("aten::copy_", {kernels::copy_on_device(static_cast<double>(elements) * size_of(kept))});
  }
  ends_.back() = step_.program().event();
  step_.program().record(step_.current(), ends_.back());
}

/// Copies of a layer's gradients before they are reduced, besides the change of type that
/// accumulate() writes.
///   fsdp       autograd puts them together into the flat parameter's (views of it are its parameters), which
///              is made of the type that is reduced and divided by about the square root of the ranks
///              (torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook, _div_if_needed)
///   fsdp2      torch._chunk_cat puts them together as it changes their type: without a change it is a copy
///              (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py), as it is of sums of micro-batches
///   none       nothing, unless all are summed as one tensor (`reduce_scatter: false`)
///   deepspeed  copied into a bucket, put together by the ranks that get them, and divided by their number
///              (runtime/zero/stage3.py, __add_grad_to_ipg_bucket; runtime/comm/coalesced_collectives.py)
void GradientReduction::copy_shards(std::int64_t elements, std::int64_t pieces) {
  const DataType product = storage_type(step_.precision());
  switch (plan_.spec.copies()) {
    case Zero3Implementation::None:
      if (!plan_.spec.reduce_scatter) {
        step_.op("aten::cat", {kernels::concat(elements, pieces, type())});
      }
      return;
    case Zero3Implementation::Fsdp:
      step_.op("SplitWithSizesBackward0", {kernels::concat(elements, pieces, product)});
      if (type() != product) {
        step_.op("aten::to", {kernels::cast(elements, product, type())});
      }
      step_.op("aten::div_", {kernels::scale(elements, type())});
      return;
    case Zero3Implementation::DeepSpeed:
      step_.op("aten::copy_", {kernels::concat(elements, pieces, type())});
      step_.op("aten::cat", {kernels::concat(elements, pieces, type())});
      step_.op("aten::div_", {kernels::scale(elements, type())});
      return;
    case Zero3Implementation::Fsdp2:
      if (type() == product || !first_) {
        step_.op("aten::_chunk_cat", {kernels::concat(elements, pieces, type())});
      }
      return;
  }
}

void GradientReduction::communicate(const Bucket& bucket, Bytes size) {
  const Replication of = plan_.replication(bucket.expert);
  const bool shares = plan_.spec.sharding != Sharding::None && plan_.spec.reduce_scatter;
  step_.program().begin(shares ? "c10d::_reduce_scatter_base_" : "c10d::allreduce_");
  const auto start = [&](CollectiveKind kind, std::string_view group, Bytes bytes) {
    return step_.communicate(group, "nccl gradients",
                             {.kind = kind, .type = type(), .size = bytes, .send_bytes = {}});
  };
  if (of.shard > 1 || !of.is_hybrid()) {
    ends_.push_back(
        start(shares ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, of.shard_group(), size));
  }
  if (of.is_hybrid()) {
    ends_.push_back(start(CollectiveKind::AllReduce, of.counterparts, size / static_cast<double>(of.shard)));
  }
  step_.program().end();
}

void GradientReduction::finish() {
  reduce(dense_);
  reduce(expert_);
  for (const EventId end : ends_) {
    step_.wait_for(end);
  }
  ends_.clear();
}

}  // namespace lockstep
