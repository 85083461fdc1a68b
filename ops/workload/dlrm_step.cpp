#include "ops/workload/dlrm_step.hpp"

#include <numeric>
#include <utility>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/regression_loss.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {
namespace {

Bytes bytes_of(std::int64_t elements, DataType type) {
  return static_cast<double>(elements) * size_of(type);
}

}  // namespace

DlrmStep::DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                   std::vector<ShardGroup> tables)
    : step_{step},
      spec_{spec},
      setup_{setup},
      local_batch_{setup.global_batch / static_cast<std::int64_t>(step.ranks())},
      embeddings_{step, spec, setup, std::move(tables)},
      inputs_{step, spec, setup, embeddings_},
      bottom_{.rows = local_batch_, .widths = spec.bottom_mlp, .last = Activation::Relu},
      top_{.rows = local_batch_, .widths = {spec.interaction_width()}, .last = Activation::Sigmoid} {
  top_.widths.insert(top_.widths.end(), spec.top_mlp.begin(), spec.top_mlp.end());
  const std::vector<EmbeddingTable> all = spec.all_tables();
  const std::int64_t sparse_width =
      std::accumulate(all.begin(), all.end(), std::int64_t{0},
                      [](std::int64_t sum, const EmbeddingTable& table) { return sum + table.dimension; });
  interaction_ = {.rows = local_batch_,
                  .features = static_cast<std::int64_t>(all.size()) + 1,
                  .dense_width = spec.bottom_mlp.back(),
                  .input_width = spec.bottom_mlp.back() + sparse_width,
                  .pieces = 1 + embeddings_.pieces(),
                  .kind = spec.interaction,
                  .indices_on_host = spec.interaction_indices_on_host};
  mlp_parameters_ = parameters_of(bottom_);
  const std::vector<std::int64_t> top = parameters_of(top_);
  mlp_parameters_.insert(mlp_parameters_.end(), top.begin(), top.end());
  parameters_ = mlp_parameters_;
  const std::vector<std::int64_t> tables_too = embeddings_.dense_parameters();
  parameters_.insert(parameters_.end(), tables_too.begin(), tables_too.end());
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
    inputs_.begin_step();
    forward();
  }
  loss();
  inputs_.before_backward();
  backward();
  update();
  if (spec_.synchronize_each_step) {
    step_.program().wait_device();
  }
}

void DlrmStep::forward() {
  const auto bottom = [&] {
    const ModuleRange module{step_, "bottom_mlp"};
    mlp_forward(step_, bottom_);
  };
  const auto embedding = [&] {
    inputs_.before_lookup();
    embeddings_.forward([&](std::size_t group) { inputs_.before_lookup_of(group); });
  };
  if (is_distributed()) {
    embedding();
    bottom();
    embeddings_.receive();
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

void DlrmStep::loss() {
  const ModuleRange phase{step_, "loss"};
  if (!inputs_.has_labels()) {
    step_.blocking_copy("aten::to", kernels::copy_to_device(bytes_of(local_batch_, DataType::FP32), true));
  }
  regression_loss_forward(step_, spec_.loss, local_batch_);
  if (spec_.loss_readback) {
    step_.blocking_copy("aten::to", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

void DlrmStep::backward() {
  const ModuleRange phase{step_, "backward"};
  zero_gradients(step_, optimizer(), parameters_);
  step_.op("aten::ones_like", {kernels::fill(1, DataType::FP32)});
  GradientBuckets buckets{step_, setup_.parallelism.buckets(), mlp_parameters_.size()};
  GradientSink gradients{step_, &buckets, step_.framework().zero_gradients};
  step_.on_autograd_thread([&] {
    const ModuleRange range{step_, "backward"};
    regression_loss_backward(step_, spec_.loss, local_batch_);
    mlp_backward(step_, top_, gradients, true);
    interaction_backward(step_, interaction_);
    if (is_distributed()) {  // the nodes created last run first: the exchange was awaited after the bottom
                             // MLP
      embeddings_.send_gradients();
      mlp_backward(step_, bottom_, gradients, false);
      embeddings_.backward();
    } else {
      embeddings_.backward();
      mlp_backward(step_, bottom_, gradients, false);
    }
    buckets.finish();
    embeddings_.finish_backward();
  });
}

void DlrmStep::update() {
  const ModuleRange phase{step_, "optimizer"};
  optimizer_step(step_, optimizer(), parameters_);
}

DlrmMemoryShape DlrmStep::memory_shape() const {
  return {.bottom = bottom_,
          .top = top_,
          .interaction = interaction_,
          .bags = embeddings_.bags(),
          .optimizer = spec_.optimizer,
          .framework = step_.framework(),
          .ranks = step_.ranks(),
          .batches = inputs_.batches(),
          .index = inputs_.index_size()};
}

}  // namespace lockstep
