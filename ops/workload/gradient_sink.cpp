#include "ops/workload/gradient_sink.hpp"

#include <utility>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

void GradientSink::accumulate(std::int64_t elements) {
  if (holds_) {
    held_.push_back(elements);
    return;
  }
  if (adds_) {
    step_.op("torch::autograd::AccumulateGrad", {kernels::add(elements, step_.types().model())});
  } else {
    step_.op("torch::autograd::AccumulateGrad");  // the gradient is moved in
  }
  if (buckets_ != nullptr) {
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
