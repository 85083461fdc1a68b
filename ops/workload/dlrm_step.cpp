#include "ops/workload/dlrm_step.hpp"

#include <utility>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/regression_loss.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {
namespace {

DataType data_type(IndexType type) {
  return type == IndexType::Int32 ? DataType::INT32 : DataType::INT64;
}

Bytes bytes_of(std::int64_t elements, DataType type) {
  return static_cast<double>(elements) * size_of(type);
}

}  // namespace

DlrmStep::DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                   std::vector<std::vector<EmbeddingTable>> tables)
    : step_{step},
      spec_{spec},
      setup_{setup},
      local_batch_{setup.global_batch / static_cast<std::int64_t>(step.ranks())},
      bags_{.batch = setup.global_batch,
            .tables = std::move(tables),
            .kernels = spec.embedding_kernels,
            .optimizer = optimizer()},
      bottom_{.rows = local_batch_, .widths = spec.bottom_mlp, .last = Activation::Relu},
      top_{.rows = local_batch_, .widths = {spec.interaction_width()}, .last = Activation::Sigmoid} {
  top_.widths.insert(top_.widths.end(), spec.top_mlp.begin(), spec.top_mlp.end());
  std::int64_t table_count = 0;
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    all_widths_ += bags_.width(rank);
    table_count += static_cast<std::int64_t>(bags_.tables[rank].size());
  }
  interaction_ = {.rows = local_batch_,
                  .features = table_count + 1,
                  .dense_width = spec.bottom_mlp.back(),
                  .input_width = spec.bottom_mlp.back() + all_widths_,
                  .pieces = 1 + static_cast<std::int64_t>(step.ranks()),
                  .kind = spec.interaction,
                  .indices_on_host = spec.interaction_indices_on_host};
  parameters_ = parameters_of(bottom_);
  const std::vector<std::int64_t> top = parameters_of(top_);
  parameters_.insert(parameters_.end(), top.begin(), top.end());
}

Optimizer DlrmStep::optimizer() const {
  return spec_.optimizer == DlrmOptimizer::Sgd ? Optimizer::Sgd : Optimizer::Adagrad;
}

void DlrmStep::write() {
  if (setup_.data_loading > Seconds{0}) {
    step_.program().host_work("data loading", setup_.data_loading);
  }
  {
    const ModuleRange phase{step_, "forward"};
    copy_inputs();
    forward();
  }
  loss();
  backward();
  update();
  if (spec_.synchronize_each_step) {
    step_.program().wait_device();
  }
}

void DlrmStep::copy_inputs() {
  const DataType index = data_type(spec_.index_type);
  step_.blocking_copy("aten::to", [&](std::size_t rank) {
    return kernels::copy_to_device(bytes_of(bags_.lookups(rank), index), true);
  });
  step_.blocking_copy("aten::to", [&](std::size_t rank) {
    return kernels::copy_to_device(bytes_of(bags_.offsets(rank), index), true);
  });
  step_.blocking_copy(
      "aten::to",
      kernels::copy_to_device(bytes_of(local_batch_ * spec_.bottom_mlp.front(), DataType::FP32), true));
}

void DlrmStep::forward() {
  const auto bottom = [&] {
    const ModuleRange module{step_, "bottom_mlp"};
    mlp_forward(step_, bottom_);
  };
  const auto embedding = [&] {
    const ModuleRange module{step_, "embedding_lookup"};
    embedding_bag_forward(step_, bags_);
  };
  if (is_distributed()) {
    embedding();
    const EventId exchanged = start_exchange();
    bottom();
    step_.program().begin("All2All_Wait");
    step_.wait_for(exchanged);
    step_.program().end();
  } else {
    bottom();
    embedding();
  }
  {
    const ModuleRange module{step_, "interaction"};
    interaction_forward(step_, interaction_);
  }
  const ModuleRange module{step_, "top_mlp"};
  mlp_forward(step_, top_);
}

CollectiveCall DlrmStep::exchange(std::size_t rank, GroupId world, bool backward) const {
  CollectiveCall call;
  call.kind = CollectiveKind::AllToAll;
  call.group = world;
  bool even = true;
  for (std::size_t peer = 0; peer < step_.ranks(); ++peer) {
    // Forward every peer gets its samples of my tables; backward the gradients of its tables for my samples.
    const std::int64_t width = bags_.width(backward ? peer : rank);
    call.send_bytes.push_back(bytes_of(local_batch_ * width, DataType::FP32).in_base_units());
    call.size += Bytes{call.send_bytes.back()};
    even = even && bags_.width(peer) == bags_.width(0);
  }
  if (even) {
    call.send_bytes.clear();
  }
  return call;
}

EventId DlrmStep::start_exchange() {
  step_.program().begin("All2All_Req");
  step_.launch_by_rank([&](std::size_t rank) {
    return kernels::concat(setup_.global_batch * bags_.width(rank), 1, DataType::FP32);
  });
  const EventId end =
      step_.communicate([&](std::size_t rank, GroupId world) { return exchange(rank, world, false); });
  step_.program().end();
  return end;
}

EventId DlrmStep::start_gradient_exchange() {
  step_.program().begin("All2All_WaitBackward");
  for (std::size_t peer = 0; peer < step_.ranks(); ++peer) {
    step_.launch(kernels::strided_copy(local_batch_ * bags_.width(peer), DataType::FP32));
  }
  step_.launch(
      kernels::concat(local_batch_ * all_widths_, static_cast<std::int64_t>(step_.ranks()), DataType::FP32));
  const EventId end =
      step_.communicate([&](std::size_t rank, GroupId world) { return exchange(rank, world, true); });
  step_.program().end();
  return end;
}

void DlrmStep::end_gradient_exchange(EventId end) {
  step_.program().begin("All2All_ReqBackward");
  step_.wait_for(end);
  step_.launch_by_rank([&](std::size_t rank) {
    return kernels::strided_copy(setup_.global_batch * bags_.width(rank), DataType::FP32);
  });
  step_.program().end();
}

void DlrmStep::loss() {
  const ModuleRange phase{step_, "loss"};
  step_.blocking_copy("aten::to", kernels::copy_to_device(bytes_of(local_batch_, DataType::FP32), true));
  regression_loss_forward(step_, spec_.loss, local_batch_);
  if (spec_.loss_readback) {
    step_.blocking_copy("aten::to", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

void DlrmStep::backward() {
  const ModuleRange phase{step_, "backward"};
  zero_gradients(step_, optimizer(), parameters_);
  step_.op("aten::ones_like", {kernels::fill(1, DataType::FP32)});
  GradientBuckets buckets{step_, setup_.parallelism.buckets(), parameters_.size()};
  GradientSink gradients{step_, &buckets, step_.framework().zero_gradients};
  step_.on_autograd_thread([&] {
    const ModuleRange range{step_, "backward"};
    regression_loss_backward(step_, spec_.loss, local_batch_);
    mlp_backward(step_, top_, gradients, true);
    interaction_backward(step_, interaction_);
    if (is_distributed()) {  // the nodes created last run first: the exchange was awaited after the bottom
                             // MLP
      const EventId exchanged = start_gradient_exchange();
      mlp_backward(step_, bottom_, gradients, false);
      end_gradient_exchange(exchanged);
      embedding_bag_backward(step_, bags_);
    } else {
      embedding_bag_backward(step_, bags_);
      mlp_backward(step_, bottom_, gradients, false);
    }
    buckets.finish();
  });
}

void DlrmStep::update() {
  const ModuleRange phase{step_, "optimizer"};
  optimizer_step(step_, optimizer(), parameters_);
}

}  // namespace lockstep
