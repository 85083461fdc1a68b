#include "ops/workload/gradient_buckets.hpp"

#include <fmt/format.h>

#include <span>
#include <stdexcept>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {

void GradientBuckets::ready(std::int64_t elements) {
  if (step_.ranks() == 1) {
    return;
  }
  const bool apex = step_.framework().apex;
  if (apex) {
    step_.op("allreduce_hook");  // in Python
  } else {
    // mul_out(bucket view, gradient, 1 / ranks): the average before the sum.
    step_.op("aten::mul", {kernels::scale(elements, step_.types().model())});
  }
  gradients_.push_back(elements);
  open_elements_ += elements;
  const Bytes limit = sizes_.empty() && !apex ? limits_.first : limits_.others;
  if (static_cast<double>(open_elements_) * size_of(step_.types().model()) >= limit ||
      gradients_.size() == expected_) {
    if (apex) {
      reduce_as_apex();
    } else {
      reduce();
    }
    sizes_.push_back(open_elements_);
    reduced_ = gradients_.size();
    open_elements_ = 0;
  }
}

void GradientBuckets::reduce_as_apex() {
  const DataType type = step_.types().model();
  const auto bucket = std::span{gradients_}.subspan(reduced_);
  step_.op("apex_C::flatten",
           {kernels::concat(open_elements_, static_cast<std::int64_t>(bucket.size()), type)});
  const EventId gathered = step_.program().event();
  step_.program().record(step_.current(), gathered);
  const StreamScope own{step_, "apex"};
  step_.wait_for(gathered);
  step_.program().begin("c10d::allreduce_");
  step_.wait_for(step_.communicate({.kind = CollectiveKind::AllReduce,
                                    .type = type,
                                    .size = static_cast<double>(open_elements_) * size_of(type),
                                    .send_bytes = {}}));
  step_.program().end();
  step_.op("aten::mul_", {kernels::scale(open_elements_, type)});
  step_.program().begin("multi_tensor_scale");
  for (const MultiTensorLaunch& launch : multi_tensor_launches(bucket, 2)) {
    step_.launch({"multi_tensor_apply_kernel<scale>", type,
                  Pointwise{.elements = launch.elements, .reads = 1, .writes = 1, .flops = 1}});
  }
  step_.program().end();
  const EventId end = step_.program().event();
  step_.program().record(step_.current(), end);
  ends_ = {end};  // of all before, too: one stream
}

void GradientBuckets::reduce() {
  step_.program().begin("c10d::allreduce_");
  ends_.push_back(
      step_.communicate({.kind = CollectiveKind::AllReduce,
                         .type = step_.types().model(),
                         .size = static_cast<double>(open_elements_) * size_of(step_.types().model()),
                         .send_bytes = {}}));
  step_.program().end();
}

void GradientBuckets::finish() {
  if (step_.ranks() > 1 && gradients_.size() != expected_) {
    throw std::logic_error{fmt::format("{} gradients came, {} were expected", gradients_.size(), expected_)};
  }
  for (const EventId end : ends_) {
    step_.wait_for(end);
  }
  if (!step_.framework().gradient_as_bucket_view && !step_.framework().apex) {
    for (const std::int64_t elements : gradients_) {
      step_.op("torch.distributed.ddp.reducer::copy_bucket_to_grad",
               {kernels::copy_on_device(static_cast<double>(elements) * size_of(step_.types().model()))});
    }
  }
  gradients_.clear();
  reduced_ = 0;
  ends_.clear();
}

}  // namespace lockstep
