#include "ops/workload/gradient_buckets.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

void GradientBuckets::ready(std::int64_t elements) {
  if (step_.ranks() == 1) {
    return;
  }
  // mul_out(bucket view, gradient, 1 / ranks): the average before the sum.
  step_.op("aten::mul", {kernels::scale(elements, step_.types().model())});
  gradients_.push_back(elements);
  open_elements_ += elements;
  const Bytes limit = sizes_.empty() ? limits_.first : limits_.others;
  if (static_cast<double>(open_elements_) * size_of(step_.types().model()) >= limit ||
      gradients_.size() == expected_) {
    reduce();
  }
}

void GradientBuckets::reduce() {
  step_.program().begin("c10d::allreduce_");
  ends_.push_back(
      step_.communicate({.kind = CollectiveKind::AllReduce,
                         .type = step_.types().model(),
                         .size = static_cast<double>(open_elements_) * size_of(step_.types().model()),
                         .send_bytes = {}}));
  step_.program().end();
  sizes_.push_back(open_elements_);
  open_elements_ = 0;
}

void GradientBuckets::finish() {
  if (step_.ranks() > 1 && gradients_.size() != expected_) {
    throw std::logic_error{fmt::format("{} gradients came, {} were expected", gradients_.size(), expected_)};
  }
  for (const EventId end : ends_) {
    step_.wait_for(end);
  }
  if (!step_.framework().gradient_as_bucket_view) {
    for (const std::int64_t elements : gradients_) {
      step_.op("torch.distributed.ddp.reducer::copy_bucket_to_grad",
               {kernels::copy_on_device(static_cast<double>(elements) * size_of(step_.types().model()))});
    }
  }
  gradients_.clear();
  ends_.clear();
}

}  // namespace lockstep
