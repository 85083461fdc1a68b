#include "ops/workload/gradient_sink.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

void GradientSink::accumulate(std::int64_t elements) {
  if (adds_) {
    step_.op("torch::autograd::AccumulateGrad", {kernels::add(elements, step_.types().model())});
  } else {
    step_.op("torch::autograd::AccumulateGrad");  // the gradient is moved in
  }
  if (buckets_ != nullptr) {
    buckets_->ready(elements);
  }
}

}  // namespace lockstep
