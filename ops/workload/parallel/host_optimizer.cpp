#include "ops/workload/parallel/host_optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kToHost = "gradients to host", kToDevice = "parameters to gpu";

}  // namespace

DataType HostOptimizer::gradient_type() const {
  return plan_.has_fp32_gradients() ? DataType::FP32 : storage_type(step_.precision());
}

void HostOptimizer::begin(bool first, bool last) {
  accumulates_ = !first && passes_through();
  last_ = last;
}

void HostOptimizer::hold(Bytes gradient) {
  if (is_used() && passes_through()) {
    memory_.allocate(MemoryUse::Gradients, gradient);
  }
}

void HostOptimizer::leave(const Share& share) {
  if (passes_through()) {  // there is one bucket that leaves beside one that fills
    memory_.release(MemoryUse::Gradients, leaving_);
    leaving_ = share.bucket;
  }
  const StreamScope stream{step_, kToHost};
  step_.wait_for(share.reduced);
  if (last_ && plan_.spec.pipeline > 1) {
    put_off_ += share.elements;
  } else {
    copy_out(share.elements);
  }
}

void HostOptimizer::copy_out(double elements) {
  const auto whole = static_cast<std::int64_t>(std::ceil(elements));
  const Bytes size = elements * size_of(gradient_type());
  if (accumulates_) {
    step_.op("aten::copy_", {kernels::copy_to_device(size, true)});
    step_.op("aten::add_", {kernels::add(whole, gradient_type())});
  }
  if (last_ && setup_.norm) {
    step_.program().begin("aten::norm");
    for (const auto& launch : multi_tensor_launches(std::vector{whole}, 1)) {
      step_.launch({"multi_tensor_apply_kernel<l2norm>", gradient_type(),
                    Pointwise{.elements = launch.elements, .reads = 1, .writes = 0, .flops = 2}});
    }
    step_.program().end();
  }
  step_.op("aten::copy_", {kernels::copy_to_host(size, true)});
}

void HostOptimizer::flush() {
  if (!is_used()) {
    return;
  }
  memory_.release(MemoryUse::Gradients, std::exchange(leaving_, Bytes{0}));
  ProgramBuilder& program = step_.program();
  const EventId summed = program.event(), left = program.event();
  program.record(step_.compute(), summed);
  const StreamScope stream{step_, kToHost};
  step_.wait_for(summed);
  if (put_off_ > 0) {
    copy_out(std::exchange(put_off_, 0));
  }
  program.record(step_.current(), left);
  program.stream_wait(step_.compute(), left);
}

Seconds HostOptimizer::traffic(double bytes) const {
  return Bytes{bytes} / (kUpdateEfficiency * setup_.bandwidth);
}

void HostOptimizer::update(std::int64_t elements) {
  ProgramBuilder& program = step_.program();
  const bool mixed = is_mixed(step_.precision());
  const double gradient = size_of(gradient_type()).in_base_units(),
               parameter = size_of(storage_type(step_.precision())).in_base_units();
  constexpr double kStates = 3 * 4;  // bytes of the master weight and two moments
  const ModuleRange range{step_, "DeepSpeedCPUAdam.step"};
  program.begin("cudaStreamSynchronize");
  program.wait_stream(program.stream(kToHost));
  program.end();
  if (setup_.norm) {
    program.host_work("unscale_and_clip_grads", traffic(static_cast<double>(elements) * 2 * gradient));
  }
  const bool returns = plan_.spec.offload == Offload::Optimizer;
  const StreamScope stream{step_, kToDevice};
  for (std::int64_t done = 0; done < elements; done += kTile) {
    const auto tile = static_cast<double>(std::min(kTile, elements - done));
    const Seconds of_memory = traffic(tile * (gradient + 2 * kStates + (mixed ? parameter : 0)));
    const Seconds of_threads{
        plan_.spec.offload_threads ? tile / (*plan_.spec.offload_threads * kUpdatesOfThread) : 0};
    program.host_work(kCpuAdam, std::max(of_memory, of_threads));
    if (returns) {
      step_.op("aten::copy_", {kernels::copy_to_device(Bytes{tile * parameter}, true)});
    }
  }
  if (returns) {
    const EventId end = program.event();
    program.record(step_.current(), end);
    program.stream_wait(step_.compute(), end);
  }
}

}  // namespace lockstep
