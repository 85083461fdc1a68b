#include "ops/workload/gradient_sink.hpp"

#include <cassert>
#include <utility>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/gradient_reduction.hpp"

namespace lockstep {
namespace {

constexpr const char* kAccumulate = "torch::autograd::AccumulateGrad";

}  // namespace

void GradientSink::accumulate(std::int64_t elements) {
  if (!trains_) {
    return;
  }
  if (holds_) {
    held_.push_back(elements);
    return;
  }
  if (adds_) {
    step_.op(kAccumulate, {kernels::add(elements, step_.types().model())});
  } else {
    step_.op(kAccumulate);  // the gradient is moved in
  }
  finish(elements);
}

void GradientSink::accumulate_strided(std::int64_t elements) {
  if (!trains_) {
    return;
  }
  assert(!holds_);  // what a compiled graph hands over is contiguous
  const DataType type = step_.types().model();
  step_.op(kAccumulate, {adds_ ? kernels::by_offsets("add", elements, type, {.reads = 2})
                               : kernels::strided_copy(elements, type)});
  finish(elements);
}

void GradientSink::finish(std::int64_t elements) {
  if (sharded_ != nullptr) {
    sharded_->accumulate(elements, false);
  } else if (buckets_ != nullptr) {
    buckets_->ready(elements);
  }
}

void GradientSink::release() {
  holds_ = false;
  for (const std::int64_t elements : std::exchange(held_, {})) {
    accumulate(elements);
  }
}

}  // namespace lockstep
